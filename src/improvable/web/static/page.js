// What plain forms cannot do: copy, drop a file, show only what a choice needs, say that something works or is gone.
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
  for (const part of document.querySelectorAll("[data-only]")) {
    const [name, value] = part.dataset.only.split("=");
    part.hidden = document.querySelector(`[name=${name}]`).value !== value;
  }
  const taken = [];
  for (const select of document.querySelectorAll("[data-role]")) {
    taken.push(select.value);
    for (const part of document.querySelectorAll(`[data-for^="${select.name}="]`)) {
      part.hidden = part.dataset.for !== `${select.name}=${select.value}`;
    }
  }
  for (const row of document.querySelectorAll("[data-row]")) row.hidden = taken.includes(row.dataset.row);
  for (const [mark, role] of [["amount", "outcome"], ["score", "algorithm"]]) {
    for (const part of document.querySelectorAll(`[data-${mark}]`)) {
      part.hidden = !document.querySelector(`[data-for="${role}=${document.getElementById(role).value}"][data-many]`);
    }
  }
};
document.addEventListener("change", only);
only();
document.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A form that takes a while says so, and is sent once. A page that comes back from the past starts anew.
const works = document.getElementById("works");
document.addEventListener("submit", (event) => {
  if (!event.target.dataset.works || event.defaultPrevented) return;
  if (works.textContent) return void event.preventDefault();
  works.textContent = `${event.target.dataset.works} …`;
  works.scrollIntoView({ block: "nearest" });
});
window.addEventListener("pageshow", () => (works.textContent = ""));

// When a run ends, its page is another one: title, heading and what can be done next.
document.addEventListener("htmx:sseClose", (event) => {
  if (event.detail.type === "message") location.reload();
});

// One question without an answer may be this page's own leaving; two are a server that has gone.
let unanswered = 0;
const ask = async () => {
  const there = await fetch("/alive").then((answer) => answer.ok, () => false);
  unanswered = there ? 0 : unanswered + 1;
  document.getElementById("gone").hidden = unanswered < 2;
  if (unanswered > 1) works.textContent = "";
};
setInterval(ask, 2000);
