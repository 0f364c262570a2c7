// What plain forms cannot do: copy the command, drop a file, and hide the margin where none is asked for.
"use strict";
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
for (const form of document.querySelectorAll("[data-drop]")) {
  const input = form.querySelector("input[type=file]");
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });
}
const only = () => {
  for (const part of document.querySelectorAll("[data-good]")) {
    part.hidden = !["outcome", "decision"].includes(part.closest("td").querySelector("select").value);
  }
  for (const part of document.querySelectorAll("[data-only]")) {
    const [name, value] = part.dataset.only.split("=");
    part.hidden = document.querySelector(`[name=${name}]`).value !== value;
  }
};
document.addEventListener("change", only);
only();
