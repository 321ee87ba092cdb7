/* SPDX-License-Identifier: MIT
 * Colours and the list of pages. The switch is that of report.html, and so is what it keeps. */
"use strict";
const themes = ["auto", "light", "dark"];
const kept = (value) => { try { return value ? localStorage.setItem("lockbench-theme", value) : localStorage.getItem("lockbench-theme"); } catch { return null; } };
let theme = themes.includes(kept()) ? kept() : "auto";
const paint = () => {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};
paint(); /* before the page is seen */
const foldPages = () => { document.getElementById("pages").open = innerWidth > 900; };
document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const say = () => {
    button.textContent = {auto: "◐", light: "☀", dark: "☾"}[theme];
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
