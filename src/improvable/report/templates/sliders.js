(function () {
  "use strict";
  var curves = JSON.parse(document.getElementById("curves").textContent);
  var sliders = { a: document.getElementById("slide-a"), f: document.getElementById("slide-f") };
  var grids = { a: curves.accuracy, f: curves.fairness };
  var shown = document.getElementById("p-shown");
  var says = document.getElementById("p-says");

  function amount(delta) {
    return curves.share ? (100 * delta).toFixed(1).replace(/\.0$/, "") + "%" : String(delta);
  }

  function place(a, f) {
    var worst = curves.repetitions.map(function (repetition) { return Math.max(repetition[0][a], repetition[1][f]); });
    worst.sort(function (x, y) { return x - y; });
    return worst[Math.floor((worst.length - 1) / 2)];
  }

  function update() {
    var a = Number(sliders.a.value), f = Number(sliders.f.value), at = place(a, f);
    var p = curves.p[at], rejected = p < curves.level;
    document.getElementById("value-a").textContent = amount(grids.a[a]);
    document.getElementById("value-f").textContent = amount(grids.f[f]);
    shown.textContent = "p " + (p === 0 ? "" : "= ") + curves.text[at];
    shown.setAttribute("data-p", String(p));
    says.textContent = rejected ? "below " + curves.level + ": supported" : "not below " + curves.level + ": not shown";
    says.className = rejected ? "yes" : "no";
  }

  function nearest(grid, value) {
    var best = 0;
    grid.forEach(function (delta, i) { if (Math.abs(delta - value) < Math.abs(grid[best] - value)) { best = i; } });
    return best;
  }

  function follow() {
    location.hash.slice(1).split("&").forEach(function (part) {
      var pair = part.split("="), value = Number(pair[1]);
      if (Object.prototype.hasOwnProperty.call(sliders, pair[0]) && pair[1] && isFinite(value)) {
        sliders[pair[0]].value = String(nearest(grids[pair[0]], value));
      }
    });
    update();
  }

  Object.keys(sliders).forEach(function (name, i) {
    sliders[name].max = String(grids[name].length - 1);
    sliders[name].value = String(curves.start[i]);
    sliders[name].addEventListener("input", update);
  });
  window.addEventListener("hashchange", follow);
  follow();
})();
