// SPDX-License-Identifier: MIT
// theme.js - the switch between light and dark, of report.html and of the site's pages. All keep the choice in one place.
"use strict";
(() => {
  const signs = new Map([["auto", "◐"], ["light", "☀"], ["dark", "☾"]]);
  const themes = [...signs.keys()];
  const kept = (value) => { try { return value ? localStorage.setItem("lockbench-theme", value) : localStorage.getItem("lockbench-theme"); } catch { return null; } };
  let theme = signs.has(kept()) ? kept() : "auto";
  const paint = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  paint(); // in the head of a page: before it is seen
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const say = () => {
      button.textContent = signs.get(theme);
      button.title = button.ariaLabel = `Colours: ${theme}`;
    };
    say();
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      kept(theme);
      paint();
      say();
    });
  });
})();
