// SPDX-License-Identifier: MIT
// site.mjs EXPECTED.json - opens the site in Chromium as a reader does: wide and on a telephone, light and dark, by keyboard, and speaks TAP. tests/python/test-site.py makes it.
import { all, check, end, open, said, same, want } from "./reader.mjs";

const at = (place) => want.site + place;
const DARK = "rgb(22, 24, 28)", LIGHT = "rgb(255, 255, 255)";
const colour = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const active = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
const follow = (page, link) => Promise.all([page.waitForNavigation({ waitUntil: "load" }), link.click()]);
const begin = (page, text) => follow(page, page.locator(".start a", { hasText: text }));
const rowsOf = (page) => page.locator("#truth tbody tr:not(.theme) th b").allTextContents();
const headsOf = (page) => page.locator("#truth thead th[scope=col]").evaluateAll((nodes) => nodes.map((node) => node.title));

for (const width of [1280, 390]) {
  const wrong = [], page = await open(at("index.html"), { width });
  for (const place of want.pages) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(at(place));
    for (const [colorScheme, expected] of [["light", LIGHT], ["dark", DARK]]) {
      await page.emulateMedia({ colorScheme });
      const [wide, back] = [await page.evaluate(() => document.documentElement.scrollWidth), await colour(page)];
      if (wide > width || back !== expected) wrong.push(`${place}, ${colorScheme}: ${wide} pixels, ${back}`);
    }
  }
  await page.close();
  await check(`${want.pages.length} pages at ${width} pixels, light and dark: none scrolls sideways, each has the colours that are asked for`, async () => same(wrong, []));
}

let page = await open(at("index.html"));
await check("the keyboard begins with a way past the head, and each step is seen", async () => {
  await page.keyboard.press("Tab");
  const first = await active(page), seen = await page.locator(".skip").evaluate((node) => node.getBoundingClientRect().x >= 0 && getComputedStyle(node).outlineStyle !== "none");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  return all(same(first, "Skip to the page"), seen || "one cannot see it", same(await page.evaluate(() => document.activeElement.closest("main")?.id), "content"));
});
for (const [text, place, word] of want.start) await check(`one click: ${text}`, async () => {
  await page.goto(at("index.html"));
  await begin(page, text);
  return all(same(page.url().split("#")[0], at(place)), (await page.locator("main:not([hidden])").innerText()).includes(word) || `no ${word}`);
});
await check("the question of failovers shows their rows alone", async () => {
  await page.goto(at("index.html"));
  await begin(page, "failover");
  const rows = await rowsOf(page);
  return all(rows.length > 2 && rows.every((row) => row.includes("failover")) || rows, same(await page.locator("#scenarios").inputValue(), "failover"));
});
await check("from there the keyboard opens a cell, and Escape leads back to the same rows", async () => {
  const rows = await rowsOf(page);
  await page.locator("#truth td a[tabindex='0']").focus();
  await page.keyboard.press("ArrowRight");
  const cell = await page.evaluate(() => document.activeElement.dataset.id);
  await page.keyboard.press("Enter");
  await page.locator("#trial h2").waitFor();
  const command = await page.locator("#trial pre").first().innerText();
  await page.keyboard.press("Escape");
  await page.locator("#overview").waitFor();
  return all(command.startsWith("./bench run failover") || command, same(await page.evaluate(() => document.activeElement.dataset.id), cell), same(await rowsOf(page), rows));
});
await check("two clicks lead to a run's report, and from there back to the site", async () => {
  await page.goto(at("index.html"));
  await begin(page, "Where is the data");
  await follow(page, page.locator('a[href="reference-failover/report.html"]').first());
  const head = await page.locator("h1").innerText();
  await page.locator("#truth td a").first().click();
  await page.locator("#trial .lanes").first().waitFor();
  await follow(page, page.locator('nav[aria-label="Site"] a').first());
  return all(/sentinel was violated/.test(head) || head, same(page.url(), at("index.html")));
});
await check("a version leaves the systems that run on it, and stands in the address", async () => {
  await page.goto(at(`results/${want.versions.run}/report.html`));
  await page.locator("#servers").selectOption(want.versions.name);
  const found = await headsOf(page), address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  return all(same(found.map((name) => name.split(": ")[0]), want.versions.systems), same(await headsOf(page), found), same(await page.locator("#servers").inputValue(), want.versions.name));
});
await check("a library leaves its own columns", async () => {
  await page.goto(at("results/reference-peers/report.html"));
  await page.locator("#library").selectOption("(locks of lockbench)");
  const ours = await headsOf(page);
  await page.locator("#library").selectOption(want.library);
  const its = await headsOf(page);
  return all(ours.length > 1 && !ours.some((name) => name.startsWith("peer:")) || ours, its.length > 0 && its.every((name) => name.startsWith(`peer:${want.library}@`)) || its);
});
await check("a guard changes the table, and two choices hold together", async () => {
  await page.goto(at("results/reference/report.html#filter=scenarios=pause&guard=fence"));
  const ids = await page.locator("#truth td a").evaluateAll((nodes) => nodes.map((node) => node.dataset.id));
  return ids.length > 0 && ids.every((id) => id.includes("pause") && id.endsWith(".fence")) || ids;
});
await check("the switch of colours is kept from page to page, reports too", async () => {
  await page.goto(at("index.html"));
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  const found = [await colour(page)];
  await page.goto(at("docs/choose.html"));
  found.push(await colour(page));
  await page.goto(at("results/reference-failover/report.html"));
  found.push(await colour(page));
  return same(found, [DARK, DARK, DARK]);
});
await check("the search finds a page", async () => {
  await page.goto(at("index.html"));
  await page.locator("header input").fill("fencing Patroni");
  await page.keyboard.press("Enter");
  await page.locator("#found article a").first().waitFor();
  await follow(page, page.locator("#found article a").first());
  return /\.html/.test(page.url()) && !/search/.test(page.url()) || page.url();
});
await page.close();

page = await open(at("index.html"), { width: 390 });
await check("on a telephone the list of pages is folded, and Enter opens it", async () => {
  const folded = !(await page.locator("#pages li").first().isVisible());
  await page.locator("#pages summary").focus();
  await page.keyboard.press("Enter");
  return all(folded || "it is open", await page.locator("#pages li").first().isVisible() || "it does not open");
});
await check("there a wide table scrolls in its box, by keyboard", async () => {
  await page.goto(at("docs/columns.html"));
  const box = page.locator(".scroll").first();
  await box.evaluate((node) => node.focus());
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".scroll").scrollLeft > 0, null, { timeout: 5000 });
  return same(await page.evaluate(() => scrollX), 0);
});
await check("there the first page says what this is, then asks, and its picture scrolls in its box and opens by keyboard", async () => {
  await page.goto(at("index.html"));
  const [head, cards, picture] = await page.evaluate(() => ["h1", ".start", ".picture"].map((name) => document.querySelector(name).getBoundingClientRect().top));
  const wide = await page.locator(".picture").first().evaluate((box) => [box.scrollWidth > box.clientWidth, document.documentElement.scrollWidth <= innerWidth]);
  await page.locator(".picture a").first().evaluate((node) => node.focus());
  await page.keyboard.press("Enter");
  await page.waitForURL(/\.png$/, { timeout: 5000 });
  return all(same([head < cards, cards < picture], [true, true]), same(wide, [true, true]));
});
await page.close();
await check("nothing was complained of, and nobody was asked", async () => same([...new Set(said)], []));
await end();
