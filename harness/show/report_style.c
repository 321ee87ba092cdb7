/* SPDX-License-Identifier: MIT
 *
 * The style of the page, for its style element. Colours are those of the figures (plots/style.py):
 * the hues of Okabe and Ito, which people with colour-blindness tell apart. A reader's dark scheme
 * is followed; `.violated` and its black text are the same in both.
 */
#include "report_parts.h"

const char lb_report_style[] =
    ":root{color-scheme:light dark;--ink:#1a1a1a;--soft:#595959;--line:#d9d9d9;--page:#fff;--cell:#000;\n"
    "--safe:#b8e2d5;--violated:#d55e00;--stuck:#bfe0f5;--delayed:#dfe3f8;--mixed:#f3d3e3;--undecided:#faf5b5;--skipped:#f2f2f2}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8e8e8;--soft:#a8a8a8;--line:#444;--page:#16181c;--cell:#fff;\n"
    "--safe:#1f6b55;--stuck:#245a7a;--delayed:#3c4578;--mixed:#7a3a5c;--undecided:#6d6610;--skipped:#2a2d33}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:100rem;\n"
    "margin:2rem auto;padding:0 1rem}\n"
    "header,p,ul,dl,pre,figure{max-width:76rem}\n"
    "h1{font-size:1.5rem;line-height:1.3;margin:.2rem 0}\n"
    "h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line)}\n"
    "h3{font-size:1rem;margin:1.2rem 0 .2rem}\n"
    ".banner{border-left:.5rem solid var(--soft);padding:.3rem 1rem}\n"
    ".banner.good{border-color:#009e73}.banner.bad{border-color:#d55e00}\n"
    ".soft,figcaption{color:var(--soft)}\n"
    /* A bar that is always seen, also where the system hides those that are not in use. */
    ".scroll{overflow-x:auto}.scroll::-webkit-scrollbar{height:.8rem;background:var(--line)}\n"
    ".scroll::-webkit-scrollbar-thumb{background:var(--soft);border:3px solid var(--line);border-radius:.4rem}\n"
    ".hint{display:none;margin:.2rem 0}@media(max-width:84rem){.hint{display:block}}\n"
    "table{border-collapse:separate;border-spacing:2px}\n"
    "th,td{padding:.25rem .6rem;text-align:left;vertical-align:top}thead th{font-weight:600}\n"
    "thead th small{display:block;font-weight:400;color:var(--soft);max-width:12rem}\n"
    ".truth{font-size:.8rem;line-height:1.35}.truth th,.truth td{padding:.2rem .25rem}\n"
    ".truth td{text-align:center;color:var(--cell);min-width:3.6rem;vertical-align:middle}\n"
    /* The first column stays in sight; its shadow covers what passes through the gaps between the
     * cells. */
    ".truth th:first-child{position:sticky;left:0;background:var(--page);box-shadow:0 0 0 2px var(--page);z-index:1}\n"
    ".truth tbody th{font-weight:400;vertical-align:middle;min-width:7.5rem}\n"
    ".truth tbody th small{display:block;color:var(--soft);max-width:14rem}\n"
    ".truth span{display:inline-block}.truth td small{display:block;font-weight:400}\n"
    ".truth td.safe{background:var(--safe)}.truth td.stuck{background:var(--stuck)}.truth td.delayed{background:var(--delayed)}\n"
    ".truth td.violated{background:var(--violated);color:#000;font-weight:600}\n"
    ".truth td.mixed{background:var(--mixed)}.truth td.na{color:var(--soft);outline:1px dashed var(--line);outline-offset:-1px}\n"
    ".truth td.undecided{background:var(--undecided)}.truth td.skipped{background:var(--skipped);color:var(--soft)}\n"
    ".truth td.none{outline:1px solid var(--line);outline-offset:-1px}\n"
    ".truth td.differs{outline:3px solid var(--ink);outline-offset:-3px}\n"
    ".plain{border-collapse:collapse}.plain td,.plain th{border-bottom:1px solid var(--line)}\n"
    ".plain td{white-space:nowrap}.plain td.number{text-align:right;font-variant-numeric:tabular-nums}\n"
    "code,pre{font:13px/1.45 ui-monospace,monospace}\n"
    "pre{overflow-x:auto;padding:.6rem .8rem;border:1px solid var(--line)}\n"
    "figure{margin:1rem 0}img{max-width:100%;height:auto;background:#fff}\n"
    "dt{font-weight:600}dd{margin:0 0 .4rem 1rem}summary{cursor:pointer}li{margin:.15rem 0}\n";
