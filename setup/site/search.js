/* SPDX-License-Identifier: MIT
 * Searches `pages` (place, title, text), which setup/docs writes above: every word has to occur in a section; a title counts
 * most, and a word counts for less in a long section. */
"use strict";
const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
const count = (text, word) => text.toLowerCase().split(word).length - 1;
const rank = ([, title, text]) => {
  const each = words.map((word) => 20 * count(title, word) + count(text, word));
  return words.length && each.every((n) => n > 0) ? each.reduce((a, b) => a + Math.log(1 + b), 0) / Math.log(200 + text.length) : 0;
};
const excerpt = (text) => {
  const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 80);
  return (at ? "… " : "") + text.slice(at, at + 240) + " …";
};
document.addEventListener("DOMContentLoaded", () => {
  const list = document.getElementById("found");
  for (const input of document.querySelectorAll("input[name=q]")) input.value = words.join(" ");
  if (!list) return;
  const found = pages.map((page) => [rank(page), page]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]).slice(0, 30);
  list.replaceChildren();
  for (const [, [place, title, text]] of found) {
    const item = document.createElement("article"), head = document.createElement("h3"), link = document.createElement("a"), body = document.createElement("p");
    link.href = place;
    link.textContent = title;
    body.textContent = excerpt(text);
    head.append(link);
    item.append(head, body);
    list.append(item);
  }
  if (!found.length) list.textContent = words.length ? "Nothing has all of these words." : "Type a word and press Enter.";
});
