// SPDX-License-Identifier: MIT
// reader.mjs - Chromium as a reader has it, TAP, and what the pages said or asked of others meanwhile. The first word is a file of JSON: modules, chromium, and what a test wants.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

export const want = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${want.modules}/`)("playwright-core");
export const browser = await chromium.launch({ executablePath: want.chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
export const said = [];
let count = 0, failed = 0;

export const check = async (name, statement) => {
  let why;
  try { why = await statement(); } catch (error) { why = String(error.message).split("\n").slice(0, 4).join(" | "); }
  const ok = why === true || why === undefined;
  count += 1;
  failed += !ok;
  console.log(`${ok ? "" : "not "}ok ${count} - ${name}`);
  if (!ok) console.log(`# ${typeof why === "string" ? why : JSON.stringify(why)}`);
};
export const same = (found, expected) => JSON.stringify(found) === JSON.stringify(expected) || `found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`;
export const all = (...answers) => answers.find((answer) => answer !== true) ?? true;

export const open = async (address, { width = 1280, height = 900, colorScheme = "light" } = {}) => {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) said.push(message.text()); });
  page.on("pageerror", (error) => said.push(error.message));
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) said.push(`asked ${request.url()}`); });
  await page.goto(address);
  return page;
};
export const end = async () => {
  console.log(`1..${count}`);
  await browser.close();
  process.exit(failed ? 1 : 0);
};
