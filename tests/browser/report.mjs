// SPDX-License-Identifier: MIT
// report.mjs EXPECTED.json - opens report.html in Chromium as a reader does, by mouse and keyboard, and speaks TAP.
// tests/python/test-browser.py makes the pages and says what they have to show.
import { all, browser, check, end, open, said, same, want } from "./reader.mjs";

const addressOf = (cell) => `${want.page}#cell=${encodeURIComponent(cell)}`;
const spanOf = (page) => page.locator(".lanes svg").first().evaluate((svg) => svg.dataset.to - svg.dataset.from);
const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth);
const visible = (page, selector) => page.locator(selector).evaluateAll((nodes) => nodes.filter((node) => node.checkVisibility()).length);

let page = await open(want.page);
await check("the verdict is the first that one sees", async () => all(same(await page.locator("h1").innerText(), want.verdict), (await page.locator("h1").boundingBox()).y < 80));
await check("each cell that was asked is a link, and no row or column is all n/a", async () => all(
  same(await page.locator("#truth td a").count(), want.cells),
  same(await page.locator("#truth tbody tr:not(.theme)").evaluateAll((rows) => rows.filter((row) => !row.querySelector("a[data-id]")).length), 0)));

await page.locator(`#truth a[data-id="${want.cell}"]`).click();
await check("a click opens the trial, and gives it an address", async () => all(
  same(decodeURIComponent(new URL(page.url()).hash), `#cell=${want.cell}`), await page.locator("#trial h2").isVisible(), !(await page.locator("#overview").isVisible())));
await check("the double hold is as long as trials.csv says", async () => {
  const text = (await page.locator(".lanes .overtext").first().textContent()).match(/both hold for ([\d.]+) (µs|ms|s)/);
  const ms = text[1] * { "µs": 0.001, ms: 1, s: 1000 }[text[2]];
  return Math.abs(ms - want.length) < 0.002 * want.length + 0.0006 || `the page has ${ms} ms, trials.csv ${want.length}`;
});
await check("the lanes are servers, then clients, and there is a bar for each hold", async () => all(
  same((await page.locator(".lanes").first().locator("svg > text").allTextContents()).slice(0, want.lanes.length), want.lanes),
  same(await page.locator(".lanes").first().locator(".hold").count(), want.holds), (await page.locator(".lanes .fault").count()) > 0));
await check("the double hold is as long in the chart as in the sentence", async () => {
  const lengths = await Promise.all([page.locator(".sum"), page.locator(".lanes .overtext").first()].map(async (node) => (await node.textContent()).match(/for ([\d.]+ ms)/)?.[1]));
  return same(lengths[1], lengths[0]);
});
await check("the first marked event is in sight, also on a low screen", async () => {
  const low = await open(addressOf(want.cell), { height: 400 });
  const [list, line] = await Promise.all([low.locator(".story"), low.locator(".story .wrong").first()].map((node) => node.boundingBox()));
  await low.close();
  return line.y >= list.y && line.y + line.height <= list.y + list.height || `${line.y} in ${list.y} + ${list.height}`;
});
await check("beside it the words of explain, and what is wrong", async () => all(
  same(await page.locator(".story em").allTextContents(), want.wrong.map((text) => `← ${text}`)), same((await page.locator(".sum").textContent()).trim(), want.sum),
  same(await page.locator("#trial pre").first().textContent(), want.again)));

await check("the mouse zooms and moves, the whole trial comes back", async () => {
  const whole = await spanOf(page), svg = page.locator(".lanes svg").first();
  await page.getByRole("button", { name: "Zoom in" }).first().click();
  const near = await spanOf(page), box = await svg.boundingBox(), from = await svg.getAttribute("data-from");
  await page.mouse.move(box.x + 500, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const moved = await svg.getAttribute("data-from");
  await page.getByRole("button", { name: "Whole trial" }).first().click();
  return all(near < whole || "it did not zoom", +moved > +from || "it did not move", same(await spanOf(page), whole));
});
await check("the keyboard does so, too", async () => {
  const whole = await spanOf(page);
  await page.locator(".lanes svg").first().focus();
  await page.keyboard.press("+");
  const near = await spanOf(page);
  await page.keyboard.press("0");
  return all(near < whole || "it did not zoom", same(await spanOf(page), whole));
});
await check("a button shows the double hold large", async () => {
  await page.locator(".to-overlap").first().click();
  const box = await page.locator(".lanes .over").first().boundingBox();
  await page.getByRole("button", { name: "Whole trial" }).first().click();
  return box.width > 200 || `${box.width} pixels`;
});
await check("a mark says what it is under the mouse", async () => {
  const box = await page.locator(".lanes .hold").first().boundingBox();
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  return /client-\d holds for/.test(await page.locator("#tip").innerText());
});
await check("an event in words shows its moment in the lanes", async () => {
  await page.locator(".story li.wrong").first().hover();
  return same(await page.locator(".lanes .cross").first().evaluate((line) => line.parentNode.style.display), "");
});

await page.keyboard.press("Escape");
await check("Escape leads back to the cell", async () => all(await page.locator("#overview").isVisible(), same(await page.evaluate(() => document.activeElement.dataset.id), want.cell)));
await check("arrow keys move in the table, Enter opens", async () => {
  await page.keyboard.press("ArrowRight");
  const next = await page.evaluate(() => document.activeElement.dataset.id);
  await page.keyboard.press("Enter");
  await page.locator("#trial h2").waitFor();
  const hash = decodeURIComponent(new URL(page.url()).hash);
  await page.keyboard.press("Escape");
  return all(next !== want.cell || "it did not move", same(hash, `#cell=${next}`));
});
await check("a filter leaves the systems that are asked for", async () => {
  await page.locator("#systems").fill("sentinel");
  const heads = await page.locator("#truth thead th[scope=col]").evaluateAll((nodes) => nodes.map((node) => node.title));
  await page.locator("#systems").fill("nosuchsystem");
  const none = await page.locator("#none-fits").isVisible();
  await page.locator("#systems").fill("");
  return all(heads.length > 0 && heads.every((name) => name.includes("sentinel")) || heads, none || "nothing says that none fits");
});
await check("a filter leaves the verdicts that are asked for", async () => {
  await page.locator('#verdicts [data-v="violated"]').click();
  const verdicts = await page.locator("#truth td:not(.dim):has(a)").evaluateAll((nodes) => [...new Set(nodes.map((node) => node.className.split(" ")[0]))]);
  await page.locator('#verdicts [data-v="violated"]').click();
  return same(verdicts, ["violated"]);
});
await check("a curve says its number under the mouse", async () => {
  const chart = page.locator("#speed .chart svg").first();
  await chart.scrollIntoViewIfNeeded();
  const dot = await chart.locator("path.sign").first().boundingBox();
  await page.mouse.move(dot.x + 3, dot.y + 3);
  return /@.*hand-offs\/s/s.test(await page.locator("#tip").innerText());
});
await check("a legend hides a curve", async () => {
  const curves = page.locator("#speed .load").first().locator(".chart").first().locator("path.curve"), before = await curves.count();
  await page.locator("#speed .series button").first().click();
  return same(await curves.count(), before - 1);
});
await check("colours follow the system, and the switch", async () => {
  const colour = (p) => p.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await open(want.page, { colorScheme: "dark" });
  const found = [await colour(dark)];
  await dark.locator("#theme").click();
  found.push(await colour(dark));
  await dark.locator("#theme").click();
  found.push(await colour(dark));
  await dark.close();
  return same(found, ["rgb(22, 24, 28)", "rgb(255, 255, 255)", "rgb(22, 24, 28)"]);
});
await page.close();

page = await open(addressOf(want.cell), { width: 390 });
await check("an address opens its trial, also on a telephone", async () => all(await page.locator("#trial .lanes").first().isVisible(), same(await wide(page), 390)));
await page.keyboard.press("Escape");
await check("at 390 pixels the page does not scroll sideways, and the first column stays", async () => {
  await page.locator("#truth").evaluate((table) => { table.parentNode.scrollLeft = 300; });
  return all(same(await wide(page), 390), (await page.locator("#truth tbody th b").nth(1).boundingBox()).x >= 0);
});
await page.goto(addressOf(want.cell).replace(want.page, want.killed));
await check("faults at one place of a server share a text above the bands, and an ask without an answer says so", async () => {
  const lanes = page.locator(".lanes").first(), texts = await lanes.locator("text").allTextContents();
  const above = await lanes.locator("text", { hasText: "† died" }).first().evaluate((text) => ![...text.parentNode.children].slice([...text.parentNode.children].indexOf(text)).some((node) => node.matches(".band")));
  return all(same(texts.filter((text) => /^cut|† died/.test(text)), ["cut links", "cut, † died"]), above || "a band hides it", texts.includes("still asks") || texts);
});
await page.goto(want.undecided);
await check("in a narrow cell a count is a line, and the undecided trials are the next one", async () => {
  const counts = await page.locator("#truth.tight td small").evaluateAll((nodes) => nodes.map((node) => [node.textContent, node.getClientRects().length && node.offsetHeight < 20]));
  return all(counts.some(([text]) => /^\(\+\d+ \?\)$/.test(text)) || "no cell has undecided trials", same(counts.filter((one) => !one[1]), []));
});
await page.goto(addressOf("no.such.cell"));
await check("an address of no cell says so", async () => /has no cell no\.such\.cell/.test(await page.locator("#trial").innerText()));
await page.close();

page = await open(want.page);
await check("the guards that change something can be chosen, and stand side by side", async () => {
  const guards = await page.locator("#guard option").allTextContents();
  await page.locator("#guard").selectOption(guards[1]);
  const ids = await page.locator("#truth td a").evaluateAll((nodes) => nodes.map((node) => node.dataset.id));
  return all(same(guards, ["none", ...want.telling]), ids.length > 0 && ids.every((id) => id.endsWith(`.${guards[1]}`)) || ids,
    same((await page.locator("#guarded thead th[scope=col]").allTextContents()).slice(1), want.telling));
});
await page.close();

page = await open(want.page, { colorScheme: "dark" });
await check("printed it is light, without what can only be clicked", async () => {
  await page.emulateMedia({ media: "print" });
  const found = [await page.evaluate(() => getComputedStyle(document.body).backgroundColor), await visible(page, "button, #filter")];
  await page.emulateMedia({ media: "screen" });
  return all(same(found, ["rgb(255, 255, 255)", 0]), (await page.pdf({ preferCSSPageSize: true })).length > 20000);
});
await page.close();

await check("it opens in less than a second", async () => {
  const times = [];
  for (let i = 0; i < 5 && !(times[times.length - 1] < 1000); i += 1) {
    page = await open(want.page);
    times.push(await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd));
    await page.close();
  }
  return times.some((ms) => ms < 1000) || times;
});
await check("nothing was complained of, and nobody was asked", async () => same(said, []));
await end();
