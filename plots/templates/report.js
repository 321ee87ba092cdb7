// SPDX-License-Identifier: MIT
// report.js - what moves in report.html: the table and its filter, a trial as lanes, the speed charts, the address of a cell.
// It runs inside the page and asks nothing of any network. Every text of a run is set as text, never as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";

  const make = (node, attributes, kids) => {
    for (const [name, value] of Object.entries(attributes || {}))
      if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
    for (const kid of kids) if (kid !== null && kid !== undefined && kid !== "") node.append(kid);
    return node;
  };
  const el = (tag, attributes, ...kids) => make(document.createElement(tag), attributes, kids);
  const sv = (tag, attributes, ...kids) => make(document.createElementNS(NS, tag), attributes, kids);
  const button = (text, act, attributes) => {
    const b = el("button", {type: "button", ...attributes}, text);
    b.addEventListener("click", act);
    return b;
  };
  const textOf = (number) => (number === null || number === undefined ? "" : data.texts[number]);
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // ---- cells ----

  const idOf = (cell) => `${cell.s}.${cell.y}.${cell.g}`;
  const cells = new Map(data.cells.map((cell) => [idOf(cell), cell]));
  const scenarios = new Map(data.scenarios.map((s) => [s.name, s]));
  for (const cell of data.cells) if (!scenarios.has(cell.s)) scenarios.set(cell.s, {name: cell.s, theme: "others", steps: []});
  const cellAt = (s, y, g) => cells.get(`${s}.${y}.${g}`);
  const addressOf = (cell) => `#cell=${encodeURIComponent(idOf(cell))}`;
  const isAsked = (cell) => cell && cell.v !== "n/a";
  const filter = {scenarios: "", systems: "", servers: "", library: "", guard: data.guards[0], verdicts: new Set()};

  const matches = (cell) => isAsked(cell) && (!filter.verdicts.size || filter.verdicts.has(cell.v) || (cell.x && filter.verdicts.has("≠")));
  const serversOf = (system) => data.servers[system.split("@")[1]] || "";
  const versionsOf = (system) => serversOf(system).split(" at ")[0].split(", ").filter(Boolean);
  const libraryOf = (system) => (system.startsWith("peer:") ? system.slice(5).split("@")[0] : "");
  const libraries = {"": () => true, "(locks of lockbench)": (name) => !libraryOf(name), "(all libraries)": (name) => libraryOf(name)};
  const has = (text, name) => {
    const words = text.toLowerCase().split(/[\s,]+/).filter(Boolean);
    return !words.length || words.some((word) => name.toLowerCase().includes(word));
  };
  const wantedSystems = () => data.systems.filter((name) => has(filter.systems, name) && (!filter.servers || versionsOf(name).includes(filter.servers)) &&
    (libraries[filter.library] ? libraries[filter.library](name) : libraryOf(name) === filter.library));
  const wantedScenario = (name) => has(filter.scenarios, name);

  const nameOf = (system) => {
    const [protocol, topology] = system.split("@");
    return [el("b", {}, protocol), topology ? el("small", {}, `@${topology}`) : ""];
  };

  const tdOf = (cell, tight) => {
    if (!cell) return el("td", {class: "none"});
    if (!isAsked(cell)) return el("td", {class: "na", title: `n/a: ${textOf(cell.r)}`}, "·");
    const small = [];
    if (tight) small.push(...(cell.k[0] || "").split(/ (?=\()/));
    if (!tight && cell.a) small.push("after the lease");
    if (!tight && cell.d) small.push(cell.d);
    if (!tight && cell.x) small.push(`≠ expected ${cell.x}`);
    if (!tight && cell.u) small.push("no expectation stated");
    const link = el("a", {href: addressOf(cell), tabindex: -1, title: `${cell.v} ${cell.n}${cell.a ? ", only after the lease" : ""}\n${cell.s}, ${cell.y}, guard ${cell.g}\n${textOf(cell.r)}`,
      "aria-label": `${cell.v} ${cell.n}${cell.a ? ", only after the lease" : ""}, ${cell.s}, ${cell.y}, guard ${cell.g}`, "data-id": idOf(cell)},
    el("span", {}, tight ? data.glyphs[cell.v] : `${data.glyphs[cell.v]} ${cell.v} ${cell.k[0] || ""}`), ...small.map((text) => el("small", {}, text)));
    return el("td", {class: `${cell.v}${cell.a ? " after" : ""}${cell.x ? " differs" : ""}${matches(cell) ? "" : " dim"}`}, link);
  };

  // Rows of links, for the arrow keys.
  const walkable = (table) => {
    const first = table.querySelector("td a");
    if (first) first.tabIndex = 0;
  };
  const move = (table, from, key) => {
    const rows = [...table.tBodies[0].rows].filter((row) => row.querySelector("td a"));
    const at = (row, column) => row && row.cells[column] && row.cells[column].querySelector("a");
    const y = rows.indexOf(from.closest("tr")), x = from.closest("td").cellIndex;
    const [dx, dy] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[key];
    for (let i = x + dx, j = y + dy; i > 0 && i < rows[y].cells.length && j >= 0 && j < rows.length; i += dx, j += dy)
      if (at(rows[j], i)) return at(rows[j], i);
    return null;
  };
  for (const table of [$("truth"), $("guarded")])
    table.addEventListener("keydown", (event) => {
      if (!event.key.startsWith("Arrow") || !event.target.matches("td a")) return;
      const next = move(table, event.target, event.key);
      event.preventDefault();
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });

  const themesOf = (names) => {
    const groups = new Map();
    for (const name of names) {
      const theme = scenarios.get(name).theme;
      groups.set(theme, [...(groups.get(theme) || []), name]);
    }
    return [...groups].sort((a, b) => (a[0] === "others") - (b[0] === "others"));
  };
  const headOf = (scenario, small) => el("th", {scope: "row"}, el("a", {href: `#scenario=${encodeURIComponent(scenario)}`, title: scenarios.get(scenario).title || ""}, el("b", {}, scenario)), small ? el("small", {title: small}, small) : "");

  let printing = false;
  // With words where there is room for them, else narrow.
  const fit = (paint, table, columns) => {
    const hopeless = printing ? columns > 5 : columns * 100 > document.documentElement.clientWidth;
    paint(hopeless);
    if (!hopeless && table.scrollWidth > table.parentNode.clientWidth) paint(true);
    walkable(table);
  };

  const drawTruth = (tight) => {
    const guard = filter.guard;
    let systems = wantedSystems();
    const rows = [...scenarios.keys()].filter((s) => wantedScenario(s) && systems.some((y) => matches(cellAt(s, y, guard))));
    systems = systems.filter((y) => rows.some((s) => matches(cellAt(s, y, guard))));
    const body = el("tbody");
    for (const [theme, names] of themesOf(rows)) {
      if (rows.length > names.length || theme !== "others") body.append(el("tr", {class: "theme"}, el("th", {colspan: systems.length + 1, scope: "rowgroup"}, theme)));
      for (const s of names) body.append(el("tr", {}, headOf(s, scenarios.get(s).title), ...systems.map((y) => tdOf(cellAt(s, y, guard), tight))));
    }
    $("truth").className = tight ? `truth tight${systems.length > 30 ? " many" : ""}` : systems.length <= 4 ? "truth few" : "truth";
    $("truth").replaceChildren(el("thead", {}, el("tr", {}, el("th", {}, "Scenario"), ...systems.map((y) => el("th", {scope: "col", title: serversOf(y) ? `${y}: ${serversOf(y)}` : y}, ...nameOf(y))))), body);
    document.body.classList.toggle("wide", tight);
    $("none-fits").hidden = rows.length > 0;
    $("truth").hidden = rows.length === 0;
  };

  const drawGuards = (tight) => {
    const guards = data.telling, systems = new Set(wantedSystems());
    const decided = (cell) => cell && !["n/a", "skipped", "undecided"].includes(cell.v);
    const changes = (s, y) => guards.some((g) => decided(cellAt(s, y, g)) && decided(cellAt(s, y, "none")) && cellAt(s, y, g).v !== cellAt(s, y, "none").v);
    const rows = data.cells.filter((cell) => cell.g === "none" && systems.has(cell.y) && wantedScenario(cell.s) && changes(cell.s, cell.y));
    $("guards").hidden = rows.length === 0;
    $("guarded").className = tight ? "truth tight" : "truth";
    const names = ["none", ...guards];
    $("guarded").replaceChildren(
      el("thead", {}, el("tr", {}, el("th", {}, "Scenario, system"), ...names.map((g) => el("th", {scope: "col"}, g === "none" ? "no guard" : g)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, headOf(row.s, row.y), ...names.map((g) => tdOf(cellAt(row.s, row.y, g), tight))))));
  };

  const draw = () => { drawVerdicts(); fit(drawTruth, $("truth"), wantedSystems().length); fit(drawGuards, $("guarded"), data.telling.length); };

  const drawVerdicts = () => {
    const counts = new Map();
    const systems = new Set(wantedSystems());
    for (const cell of data.cells)
      if (isAsked(cell) && cell.g === filter.guard && systems.has(cell.y) && wantedScenario(cell.s)) {
        counts.set(cell.v, (counts.get(cell.v) || 0) + 1);
        if (cell.x) counts.set("≠", (counts.get("≠") || 0) + 1);
      }
    const names = [...Object.keys(data.glyphs), "≠"].filter((v) => counts.has(v));
    $("verdicts").replaceChildren(...names.map((v) => button(v === "≠" ? `≠ not as expected ${counts.get(v)}` : `${data.glyphs[v]} ${v} ${counts.get(v)}`, () => {
      if (!filter.verdicts.delete(v)) filter.verdicts.add(v);
      draw();
      $("verdicts").querySelector(`[data-v="${v}"]`)?.focus();
    }, {class: v === "≠" ? null : v, "data-v": v, "aria-pressed": String(filter.verdicts.has(v))})));
  };

  // What is chosen stands in the address, as in #filter=scenarios=failover&servers=redis+8.0.2.
  const CHOICES = ["scenarios", "systems", "servers", "library", "guard"];
  const options = (id, names) => {
    $(id).replaceChildren(...names.map(([value, text]) => el("option", {value}, text)));
    $(`${id}-label`).hidden = names.length < 2;
  };
  const choose = () => {
    const said = new URLSearchParams();
    for (const name of CHOICES) {
      filter[name] = $(name).value;
      if (filter[name] && $(name).value !== $(name).dataset.usual) said.set(name, filter[name]);
    }
    filterAddress = `#${said.size ? `filter=${said}` : "table"}`;
    try { history.replaceState(null, "", filterAddress); } catch { /* an old browser has it that files have no address */ }
    draw();
  };
  const takeFilter = (text) => {
    const said = new URLSearchParams(text);
    for (const name of CHOICES) {
      $(name).value = said.get(name) ?? $(name).dataset.usual;
      if ($(name).selectedIndex === -1) $(name).value = $(name).dataset.usual;
      filter[name] = $(name).value;
    }
  };
  const openFilter = () => {
    const guards = data.guards.includes("none") ? ["none", ...data.telling] : data.guards;
    const versions = [...new Set(data.systems.flatMap(versionsOf))].sort((a, b) => a.localeCompare(b, "en", {numeric: true})), peers = Object.entries(data.libraries);
    options("guard", guards.map((g) => [g, g]));
    options("servers", versions.length > 1 ? [["", "any"], ...versions.map((v) => [v, v])] : [["", "any"]]);
    options("library", peers.length ? [["", "any"], ...Object.keys(libraries).slice(1).map((name) => [name, name]), ...peers.map(([name, version]) => [name, `${name} ${version}`])] : [["", "any"]]);
    for (const name of CHOICES) {
      $(name).dataset.usual = $(name).value;
      $(name).addEventListener($(name).type === "search" ? "input" : "change", choose);
    }
    takeFilter("");
    $("filter").addEventListener("submit", (event) => event.preventDefault());
    $("filter").hidden = $("legend").hidden = data.cells.length === 0;
    $("cells").hidden = data.cells.length === 0;
  };

  // ---- hover ----

  const tip = $("tip");
  const showTip = (text, event) => {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, document.documentElement.clientWidth - box.width - 4))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
  };

  // ---- a trial as lanes ----

  const lengthOf = (ms) => (ms >= 1000 ? `${+(ms / 1000).toPrecision(4)} s` : ms >= 1 ? `${+ms.toPrecision(4)} ms` : `${+(ms * 1000).toPrecision(4)} µs`);
  const overText = (ms) => `${ms.toFixed(ms >= 10 ? 1 : ms >= 0.01 ? 3 : 6)} ms`;  // as in the sentence of explain
  const step = (span, count) => {
    const raw = span / count, base = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].find((f) => f * base >= raw) * base;
  };
  const digitsOf = (unit) => Math.max(0, -Math.floor(Math.log10(unit) + 1e-9));

  // One picture of a trial. `onTime` is told where the pointer is, in ms of the trial, or null.
  class Lanes {
    constructor(trial, span, onTime) {
      this.trial = trial;
      this.whole = span;
      this.onTime = onTime;
      const spare = (span[1] - span[0]) * 0.02 || 0.01;
      this.home = [span[0] - spare, span[1] + spare];
      this.view = [...this.home];
      this.svg = sv("svg", {tabindex: 0, role: "img", "aria-label": "Clients and servers over time. Plus and minus zoom, arrow keys move."});
      this.node = el("div", {class: "chart lanes"}, this.svg);
      this.listen();
    }

    x(t) { return this.left + (t - this.view[0]) / (this.view[1] - this.view[0]) * (this.width - this.left - this.right); }
    t(x) { return this.view[0] + (x - this.left) / (this.width - this.left - this.right) * (this.view[1] - this.view[0]); }

    zoom(factor, around) {
      const at = around === undefined ? (this.view[0] + this.view[1]) / 2 : around;
      const least = (this.home[1] - this.home[0]) / 1e6, most = this.home[1] - this.home[0];
      const span = Math.min(most, Math.max(least, (this.view[1] - this.view[0]) / factor));
      const share = (at - this.view[0]) / (this.view[1] - this.view[0]);
      this.show(at - share * span, at + (1 - share) * span);
    }
    show(from, to) {
      const span = Math.min(to - from, this.home[1] - this.home[0]);
      const begin = Math.min(Math.max(from, this.home[0]), this.home[1] - span);
      this.view = [begin, begin + span];
      this.draw();
    }
    pan(share) { const by = share * (this.view[1] - this.view[0]); this.show(this.view[0] + by, this.view[1] + by); }
    overlap() {
      const o = this.trial.over && this.trial.over[0];
      if (!o) return;
      const span = o[1] - o[0] || 0.01;
      this.show(o[0] - 0.7 * span, o[1] + 0.9 * span);
    }

    listen() {
      let from = null;
      this.svg.addEventListener("pointerdown", (event) => {
        from = {x: event.offsetX, view: [...this.view]};
        try { this.svg.setPointerCapture(event.pointerId); } catch { /* a made event */ }
      });
      this.svg.addEventListener("pointerup", () => { from = null; });
      this.svg.addEventListener("pointercancel", () => { from = null; });
      this.svg.addEventListener("pointermove", (event) => {
        const x = event.clientX - this.svg.getBoundingClientRect().left;
        if (from && Math.abs(x - from.x) > 2) {
          const by = (from.x - x) / (this.width - this.left - this.right) * (from.view[1] - from.view[0]);
          this.show(from.view[0] + by, from.view[1] + by);
        }
        const time = x >= this.left ? this.t(x) : null;
        this.cross(time);
        this.onTime(time);
        const marked = document.elementsFromPoint(event.clientX, event.clientY).filter((node) => node.dataset && node.dataset.tip && this.svg.contains(node));
        showTip(marked.length ? marked.slice(0, 4).map((node) => node.dataset.tip).join("\n") : "", event);
      });
      this.svg.addEventListener("pointerleave", () => { this.cross(null); this.onTime(null); showTip(""); });
      this.svg.addEventListener("dblclick", (event) => this.zoom(2, this.t(event.offsetX)));
      this.svg.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.25 : 0.8, this.t(event.offsetX));
      }, {passive: false});
      this.svg.addEventListener("keydown", (event) => {
        const act = {"+": () => this.zoom(1.6), "=": () => this.zoom(1.6), "-": () => this.zoom(0.625), 0: () => this.show(...this.home),
          ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15)}[event.key];
        if (act) { act(); event.preventDefault(); }
      });
    }

    cross(time) {
      if (!this.crossing) return;
      const seen = time !== null && time >= this.view[0] && time <= this.view[1];
      this.crossing.style.display = seen ? "" : "none";
      if (!seen) return;
      const x = this.x(time);
      const [line, text] = this.crossing.children;
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
      text.textContent = `${time.toFixed(this.digits + 1)} ms`;
      const right = x > this.width - 90;
      text.setAttribute("x", x + (right ? -4 : 4));
      text.setAttribute("text-anchor", right ? "end" : "start");
    }

    // A row for each span, so that none meet; -1 = there is no room in `most` of them.
    rows(spans, most) {
      const rows = [];
      return spans.map(([from, to]) => {
        let row = rows.findIndex((taken) => taken.every(([a, b]) => to < a || from > b));
        if (row < 0 && rows.length < most) row = rows.push([]) - 1;
        if (row >= 0) rows[row].push([from, to]);
        return row;
      });
    }
    // Where a text of this width begins: right of x, or left of it where the picture ends.
    label(x, wide, gap) {
      const right = Math.max(x, this.left) + gap;
      return right + wide <= this.width - this.right ? right : Math.max(this.left, Math.min(x, this.width - this.right) - gap - wide);
    }

    draw() {
      const t = this.trial, wide = Math.max(240, this.node.clientWidth || 700);
      this.width = wide;
      this.left = Math.min(110, Math.max(58, 12 + 6.7 * Math.max(...t.lanes.map((name) => name.length))));
      this.right = 8;
      const seen = (from, to) => to >= this.view[0] && from <= this.view[1];
      const faults = (t.faults || []).filter((f) => seen(f[1], f[2]));
      const charW = 6.4;
      const inside = (x) => Math.min(Math.max(x, this.left), wide - this.right);
      const places = this.rows(faults.map((f) => {
        const at = this.label(this.x(f[1]), charW * f[0].length, 4);
        return [Math.min(inside(this.x(f[1])), at) - 3, Math.max(inside(this.x(f[2])), at + charW * f[0].length) + 3];
      }), 7);
      const rowCount = places.length ? Math.max(...places) + 1 : 0;
      const facts = (t.facts || []).filter((f) => seen(f[0], f[0]));
      const factPlaces = this.rows(facts.map((f) => {
        const x = this.x(f[0]), at = this.label(x, charW * f[1].length, 7);
        return [Math.min(x - 5, at) - 3, Math.max(x + 5, at + charW * f[1].length) + 3];
      }), 4);
      const factRows = factPlaces.length ? Math.max(1, Math.max(...factPlaces) + 1) : 0;
      const top = t.over ? 20 : 6, factTop = top + rowCount * 20 + 2, laneTop = factTop + factRows * 17 + 6;
      const heights = t.lanes.map((_, i) => (i < t.servers ? 24 : 46));
      const tops = [];
      let y = laneTop;
      for (const height of heights) { tops.push(y); y += height; }
      const bottom = y, height = bottom + 36;
      const mid = (lane) => tops[lane] + heights[lane] / 2 + (lane < t.servers ? 0 : 4);
      const clipped = sv("g", {"clip-path": `url(#${this.clip})`});
      const put = (tag, attributes, text) => { const node = sv(tag, attributes, text); clipped.append(node); return node; };
      const span = (from, to) => { const a = this.x(Math.max(from, this.view[0] - 1e6)); return {x: a, width: Math.max(1.5, this.x(to) - a)}; };
      const unit = step(this.view[1] - this.view[0], Math.max(2, (wide - this.left) / 110));
      this.digits = digitsOf(unit);

      const out = [sv("defs", {}, sv("pattern", {id: "late", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"},
        sv("rect", {width: 6, height: 6, class: "hatchback"}), sv("line", {x1: 0, y1: 0, x2: 0, y2: 6, class: "hatch"})),
      sv("clipPath", {id: this.clip}, sv("rect", {x: this.left, y: 0, width: wide - this.left - this.right, height})))];
      t.lanes.forEach((name, i) => {
        if (i % 2 === 0) out.push(sv("rect", {x: 0, y: tops[i], width: wide, height: heights[i], class: "stripe"}));
        out.push(sv("text", {x: 6, y: mid(i) + 4}, name.length > 15 ? `${name.slice(0, 14)}…` : name));
        out.push(sv("line", {x1: this.left, x2: wide - this.right, y1: mid(i), y2: mid(i), class: "lane"}));
      });
      for (let at = Math.ceil(this.view[0] / unit) * unit; at <= this.view[1]; at += unit) {
        const x = this.x(at);
        if (x < this.left - 1) continue;
        out.push(sv("line", {x1: x, x2: x, y1: laneTop, y2: bottom + 4, class: "rule"}));
        out.push(sv("text", {x, y: bottom + 17, "text-anchor": "middle", class: "soft"}, at.toFixed(this.digits).replace(/^-0$/, "0")));
      }
      out.push(sv("text", {x: 6, y: bottom + 17, class: "soft"}, "ms"));

      const overs = (t.over || []).filter((o) => seen(o[0], o[1]));
      for (const [i, [from, to, who]] of overs.entries()) {
        const {x, width} = span(from, to), told = overs[i] === t.over[0];
        put("rect", {x, width, y: top, height: bottom - top, class: told ? "over" : "over other", "data-tip": `${who.map((i) => t.lanes[i]).join(" and ")} hold at once for ${overText(to - from)}`});
        if (told || width > 8) for (const edge of [x, x + width]) put("line", {x1: edge, x2: edge, y1: top, y2: bottom, class: "overline"});
      }
      const bands = [];
      faults.forEach(([text, from, to, hosts, verb, words = []], i) => {
        const {x, width} = span(from, to), hint = `fault: ${text}\n${from.toFixed(this.digits)} ms${to > from ? ` to ${to.toFixed(this.digits)} ms` : ""}`;
        const yy = top + Math.max(0, places[i]) * 20;
        for (const edge of to > from ? [from, to] : [from]) put("line", {x1: this.x(edge), x2: this.x(edge), y1: yy + 18, y2: bottom, class: "fedge"});
        if (places[i] >= 0) {
          put("rect", {x, width: Math.max(3, width), y: yy + 1, height: 17, rx: 2, class: "fault", "data-tip": hint});
          put("text", {x: this.label(x, charW * text.length, 4), y: yy + 14, "pointer-events": "none"}, text);
        }
        for (const [k, lane] of (hosts || []).entries()) {
          put("rect", {x, width: Math.max(3, width), y: tops[lane] + 2, height: heights[lane] - 4, class: "band", "data-tip": `${t.lanes[lane]}: ${words[k] || verb || text}\n${hint}`});
          if (verb && lane < t.servers && seen(from, from)) bands.push({lane, x: x + 8, word: verb === "kill" ? "† died" : words[k] || verb});
        }
      });
      // After all bands, so that none hides a word; faults at one place share a text.
      const marks = [];
      for (const band of bands.sort((a, b) => a.x - b.x)) {
        const before = marks.findLast((p) => p.lane === band.lane);
        if (!before || band.x > before.x + charW * before.words.join(", ").length) marks.push({lane: band.lane, x: band.x, words: [band.word]});
        else if (!before.words.includes(band.word)) before.words.push(band.word);
      }
      for (const {lane, x, words} of marks) {
        const text = words.join(", "), died = text.includes("†");
        put("text", {x: Math.min(x, wide - this.right - charW * text.length), y: mid(lane) + 4, class: died ? "gone" : "soft", "font-weight": died ? 700 : null, "pointer-events": "none"}, text);
      }
      facts.forEach(([at, text], i) => {
        const yy = factTop + Math.max(0, factPlaces[i]) * 17, x = this.x(at);
        put("circle", {cx: x, cy: yy + 8, r: 3, class: "fact", "data-tip": `${at.toFixed(this.digits)} ms: ${text}`});
        if (factPlaces[i] >= 0) put("text", {x: this.label(x, charW * text.length, 7), y: yy + 12, class: "soft"}, text);
      });
      const grants = (t.grants || []).filter((g) => seen(g[1], g[1])), crowded = grants.length > 120;
      for (const [lane, at, who, voted] of grants) {
        const hint = `${at.toFixed(this.digits)} ms: ${t.lanes[lane]} ${voted ? "said yes to" : "was asked by"} ${t.lanes[who]}`;
        if (!crowded) put("line", {x1: this.x(at), x2: this.x(at), y1: mid(lane), y2: mid(who), class: "link"});
        put("circle", {cx: this.x(at), cy: mid(lane), r: crowded ? 2 : 4, class: "yes", "data-tip": hint});
      }
      for (const [lane, from, to, came] of t.asks || []) {
        if (!seen(from, to)) continue;
        const word = ["granted", "busy", "timeout", "unknown", "still asks", "died"][came];
        put("line", {x1: this.x(from), x2: this.x(to), y1: mid(lane), y2: mid(lane), "stroke-width": 2, class: "asks"});
        put("rect", {...span(from, to), y: mid(lane) - 6, height: 12, fill: "transparent", "data-tip": `${t.lanes[lane]} asks for ${lengthOf(to - from)}: ${word}`});
        if (word === "still asks") put("text", {x: Math.min(this.x(to), wide - this.right) - 3, y: mid(lane) - 5, "text-anchor": "end", class: "soft"}, word);
        else if (came && word !== "died") put("text", {x: this.label(this.x(to), charW * word.length, 3), y: mid(lane) + 4, class: "soft"}, word);
      }
      for (const [lane, from, to, until, ended] of t.holds || []) {
        if (!seen(from, to)) continue;
        const leased = until === null ? to : Math.min(Math.max(until, from), to);
        const hint = `${t.lanes[lane]} holds for ${lengthOf(to - from)}, until ${{release: "its release", lost: "it learned of the loss", crash: "it died", end: "the end"}[ended]}\n${from.toFixed(this.digits + 1)} ms to ${to.toFixed(this.digits + 1)} ms`
          + (until === null ? "" : `\nlease until ${until.toFixed(this.digits)} ms`);
        put("rect", {...span(from, leased), y: mid(lane) - 9, height: 18, class: "hold", "data-tip": hint});
        if (leased < to) put("rect", {...span(leased, to), y: mid(lane) - 9, height: 18, class: "late", "data-tip": `${hint}\npast its lease`});
        if (until !== null && until < to && seen(until, until)) {
          put("line", {x1: this.x(until), x2: this.x(until), y1: mid(lane) - 13, y2: mid(lane) + 13, class: "lease", "data-tip": `the lease of ${t.lanes[lane]} ends`});
          if (this.x(until) - Math.max(this.x(from), this.left) > 70) put("text", {x: this.x(until) - 4, y: mid(lane) + 20, "text-anchor": "end", class: "soft"}, "lease ends");
        }
        if (ended === "lost" && seen(to, to)) put("text", {x: this.label(this.x(to), charW * 4, 4), y: mid(lane) + 4, class: "soft"}, "lost");
      }
      const lastLabel = {};
      for (const [lane, at, isWrite, value, refused] of t.uses || []) {
        if (!seen(at, at)) continue;
        const x = this.x(at), yy = mid(lane), word = `${isWrite ? "write" : "read"}${value === null ? "" : ` ${value}`}${refused ? " refused" : ""}`;
        const hint = {"data-tip": `${at.toFixed(this.digits + 1)} ms: ${t.lanes[lane]}: ${word}`};
        if (refused) put("path", {d: `M${x - 5} ${yy - 5}l10 10m0 -10l-10 10`, class: "refused", ...hint});
        else if (isWrite) put("rect", {x: x - 4, y: yy - 4, width: 8, height: 8, class: "write", ...hint});
        else put("circle", {cx: x, cy: yy, r: 4, class: "read", ...hint});
        if (!crowded && x > (lastLabel[lane] || -1e9)) {
          const half = charW * word.length / 2;
          put("text", {x: Math.min(Math.max(x, this.left + half), wide - this.right - half), y: yy - 13, "text-anchor": "middle"}, word);
          lastLabel[lane] = x + 2 * half + 6;
        }
      }
      for (const [lane, at] of t.died || []) if (seen(at, at)) put("text", {x: this.x(at) + 2, y: mid(lane) + 5, "font-weight": 700}, "† died");
      let labelEnd = -1e9;
      for (const [from, to, who] of overs) {
        const text = `${who.length > 2 ? `${who.length} hold` : "both hold"} for ${overText(to - from)}`, half = 3.6 * text.length;
        const x = Math.min(Math.max((Math.max(this.x(from), this.left) + Math.min(this.x(to), wide)) / 2, this.left + half), wide - this.right - half);
        if (x - half < labelEnd) continue;
        put("text", {x, y: 14, "text-anchor": "middle", class: "overtext"}, text);
        labelEnd = x + half;
      }
      out.push(clipped);
      this.crossing = sv("g", {style: "display:none", "pointer-events": "none"}, sv("line", {y1: laneTop - 4, y2: bottom + 6, class: "cross"}), sv("text", {y: bottom + 32}));
      out.push(this.crossing);
      this.svg.setAttribute("viewBox", `0 0 ${wide} ${height}`);
      this.svg.setAttribute("height", height);
      this.svg.dataset.from = this.view[0];
      this.svg.dataset.to = this.view[1];
      this.svg.replaceChildren(...out);
    }
    get clip() { return this.id || (this.id = `clip-${Lanes.count = (Lanes.count || 0) + 1}`); }
  }

  const key = () => {
    const piece = (text, ...kids) => el("span", {}, sv("svg", {viewBox: "0 0 22 12"}, ...kids), text);
    return el("div", {class: "key"},
      piece("holds", sv("rect", {x: 1, y: 1, width: 20, height: 10, class: "hold"})),
      piece("holds, past its lease", sv("rect", {x: 1, y: 1, width: 20, height: 10, class: "late"})),
      piece("asks (still asks: no answer)", sv("line", {x1: 1, x2: 21, y1: 6, y2: 6, class: "asks", "stroke-width": 2})),
      piece("read", sv("circle", {cx: 11, cy: 6, r: 4, class: "read"})),
      piece("write", sv("rect", {x: 7, y: 2, width: 8, height: 8, class: "write"})),
      piece("refused", sv("path", {d: "M6 1l10 10m0 -10l-10 10", class: "refused"})),
      piece("server asked", sv("circle", {cx: 11, cy: 6, r: 4, class: "yes"})),
      piece("fault", sv("rect", {x: 1, y: 1, width: 20, height: 10, class: "fault"})),
      piece("double hold", sv("rect", {x: 1, y: 0, width: 20, height: 12, class: "over"})));
  };

  const storyOf = (trial, lanes) => {
    const list = el("ol", {class: "story", "aria-label": "Events"});
    for (const [at, who, words, wrong] of trial.story) {
      const item = el("li", {"data-at": at, class: wrong ? "wrong" : null},
        el("time", {}, at === null ? "" : `${at} ms`),
        el("span", {}, who === "FAULT" ? el("span", {class: "fault-line"}, "fault: ") : who ? el(who === "seen" ? "span" : "b", {class: who === "seen" ? "soft" : null}, `${who} `) : "", words, wrong ? el("em", {}, `← ${wrong}`) : ""));
      if (at !== null) {
        item.addEventListener("pointerenter", () => lanes.forEach((l) => l.cross(at)));
        item.addEventListener("pointerleave", () => lanes.forEach((l) => l.cross(null)));
        item.addEventListener("click", () => {
          const l = lanes[0], span = l.view[1] - l.view[0];
          if (at < l.view[0] || at > l.view[1]) l.show(at - span / 2, at + span / 2);
          l.cross(at);
        });
      }
      list.append(item);
    }
    return list;
  };
  const markLine = (list, time) => {
    let best = null;
    for (const item of list.children) {
      item.classList.remove("at");
      if (item.dataset.at === undefined || time === null) continue;
      const far = Math.abs(item.dataset.at - time);
      if (!best || far < best.far) best = {item, far};
    }
    if (!best) return;
    best.item.classList.add("at");
    const {offsetTop, offsetHeight} = best.item, inside = list.scrollHeight > list.clientHeight + 4;
    if (inside && (offsetTop - list.offsetTop < list.scrollTop || offsetTop - list.offsetTop + offsetHeight > list.scrollTop + list.clientHeight))
      list.scrollTop = offsetTop - list.offsetTop - list.clientHeight / 2;
  };

  const commandOf = (title, text) => {
    const copy = button("Copy", async () => {
      try { await navigator.clipboard.writeText(text); copy.textContent = "Copied"; } catch {
        getSelection().selectAllChildren(code);
        copy.textContent = "Selected";
      }
    }, {class: "no-print"});
    const code = el("pre", {}, text);
    return el("div", {}, el("div", {class: "tools"}, el("strong", {}, title), copy), code);
  };

  const quote = (word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const explainOf = (cell, number) => `${data.called} explain ${quote(data.place)} ${quote(idOf(cell))}${number ? ` --trial ${number}` : ""}`;

  const trialsOf = (cell) => {
    if (!cell.t || !cell.t.length) return null;
    const names = ["clients", "trial", "verdict", "double hold, ms", "seed", "its story", "why"].slice(0, cell.t.some((t) => t[6] !== null) ? 7 : 6);
    const rows = cell.t.map(([clients, number, seed, verdict, ms, kept, why]) => el("tr", {},
      el("td", {class: "number"}, String(clients)), el("td", {class: "number"}, number), el("td", {}, el("span", {class: `badge ${verdict}`}, verdict)),
      el("td", {class: "number"}, ms), el("td", {class: "number"}, seed), el("td", {}, kept ? el("code", {}, explainOf(cell, number)) : ""), names.length > 6 ? el("td", {}, textOf(why)) : ""));
    return el("details", {open: cell.t.length <= 4}, el("summary", {}, `${plural(cell.t.length + (cell.more || 0), "trial")} of this cell`),
      el("div", {class: "scroll"}, el("table", {class: "plain"}, el("thead", {}, el("tr", {}, ...names.map((name) => el("th", {}, name)))),
        el("tbody", {}, ...rows))), cell.more ? el("p", {class: "soft"}, `${cell.more} more are in trials.csv.`) : "");
  };

  let shown = [];
  const pictureOf = (trial) => {
    const small = trial.over && trial.over[0][1] - trial.over[0][0] < 0.15 * (trial.span[1] - trial.span[0]) && trial.over[0][1] > trial.over[0][0];
    const list = {children: []};
    const tell = (time) => { markLine(list.node || list, time); };
    const lanes = [new Lanes(trial, trial.span, tell)];
    if (small) lanes.push(new Lanes(trial, trial.span, tell));
    list.node = storyOf(trial, lanes);
    const tools = (l, more) => el("div", {class: "tools"}, button("+", () => l.zoom(1.6), {"aria-label": "Zoom in"}), button("−", () => l.zoom(0.625), {"aria-label": "Zoom out"}),
      button("Whole trial", () => l.show(...l.home)), trial.over ? button("Double hold", () => l.overlap(), {class: "to-overlap"}) : "", more || "");
    const box = el("div", {}, tools(lanes[0], el("span", {class: "soft"}, "Drag to move, double-click or Ctrl and the wheel to zoom.")), lanes[0].node, small ? el("p", {class: "soft"}, "The double hold, enlarged:") : "", small ? lanes[1].node : "", key());
    shown = lanes;
    return [el("div", {}, el("p", {class: "sum"}, trial.end), el("div", {class: "beside"}, box, list.node)), () => {
      for (const l of lanes) l.draw();
      if (small) lanes[1].overlap();
      const first = list.node.querySelector(".wrong");
      if (first) list.node.scrollTop = first.offsetTop - list.node.offsetTop - list.node.clientHeight / 3;
    }];
  };

  const emptyReason = (cell) => {
    if (cell.v === "skipped") return "This cell was skipped, so there is no trial.";
    if (data.untold && !Object.keys(data.told).length) return `No trial can be shown: ${data.untold}.`;
    if (data.left && cell.t && cell.t.some((t) => t[5])) return `To keep this page small, ${plural(data.left, "trial")} were left out of it, this one too. This command shows it:`;
    return "No history of this cell is in the folder. A load keeps only those of trials that were not safe; a published run keeps few.";
  };

  // SCENARIO.SYSTEM, as `lockbench explain` has it, is its cell under the first guard that it was asked with.
  const drawTrial = (asked) => {
    const id = [asked, ...data.guards.map((guard) => `${asked}.${guard}`)].find((name) => cells.has(name)) ?? asked;
    const cell = cells.get(id), main = $("trial");
    const back = el("p", {class: "no-print"}, el("a", {href: filterAddress, id: "back"}, "← all cells (Escape)"));
    if (!cell) return main.replaceChildren(back, el("p", {}, `This run has no cell ${id}.`));
    const trial = data.told[id], scenario = scenarios.get(cell.s);
    const [picture, ready] = trial && trial.span ? pictureOf(trial) : [null, () => {}];
    const facts = [trial ? `trial ${trial.trial}, ${trial.clients} clients, ${trial.events || 0} events` : "", ...(cell.c || []).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`)].filter(Boolean);
    main.replaceChildren(back,
      el("div", {class: "trial-head"}, el("h2", {}, `${cell.s}: ${cell.y}${cell.g === "none" ? "" : `, guard ${cell.g}`}`), el("span", {class: `badge ${cell.v}`}, `${data.glyphs[cell.v]} ${cell.v} ${cell.n || ""}`)),
      el("p", {}, scenario.question || scenario.title || ""), el("p", {class: cell.x || cell.u ? null : "soft"}, cell.x ? `≠ expected ${cell.x}. ` : "", textOf(cell.r), cell.a ? " Two held the lock only after the first one's lease: the holder did not stop." : ""),
      picture || el("p", {class: "soft"}, emptyReason(cell)),
      trial && trial.part ? el("p", {class: "soft"}, `The picture has ${trial.part} of ${trial.events} events: those around the double hold of the first sentence, or else the last.`) : "",
      trial && trial.cut ? el("p", {class: "soft"}, `${trial.cut} marks are left out of the picture.`) : "",
      trial ? commandOf("Repeat this trial", trial.again) : "", !trial && scenario.plain ? commandOf("Play it", `${data.called} run ${quote(cell.s)} -b ${quote(cell.y)} -g ${cell.g} -n 5`) : "",
      cell.t && cell.t.length ? commandOf("Tell it in a terminal", explainOf(cell)) : "",
      trialsOf(cell) || "",
      facts.length ? el("details", {open: true}, el("summary", {}, "Counted in this cell, over all its trials"), el("ul", {class: "facts"}, ...facts.slice(trial ? 1 : 0).map((text) => el("li", {}, text)))) : "",
      scenario.steps.length ? el("details", {open: true}, el("summary", {}, "Steps of the scenario"), el("ol", {}, ...scenario.steps.map((text) => el("li", {}, el("code", {}, text))))) : "");
    if (trial) main.querySelector(".trial-head").append(el("span", {class: "soft"}, facts[0]));
    return ready;
  };

  // ---- speed ----

  const UNITS = {grants_per_s: "grants/s", handoffs_per_s: "hand-offs/s", handoff_p50_us: "hand-off, median", handoff_p99_us: "hand-off, p99", of_floor: "of the floor: grants/s ÷ those of the bare commands, same round"};
  const METRICS = ["handoffs_per_s", "grants_per_s", "handoff_p50_us", "handoff_p99_us", "of_floor"];
  const rateText = (v) => (v >= 1e6 ? `${+(v / 1e6).toPrecision(3)}M` : v >= 1e4 ? `${+(v / 1e3).toPrecision(3)}k` : `${+v.toPrecision(3)}`);
  const timeText = (us) => lengthOf(us / 1000);
  const colour = (look) => (look === "#000000" ? "var(--ink)" : look);

  // Lines on logarithmic axes. series: [{name, look: [colour, dash], points: [[x, y, low, high]]}]
  // The signs of the figures (plots/style.py), by the corners of each in a square of 2 x 2.
  const SIGNS = {s: "M-.8-.8H.8V.8H-.8Z", D: "M0-1L1 0 0 1-1 0Z", "^": "M0-1L1 .8H-1Z", v: "M0 1L1-.8H-1Z", "<": "M-1 0L.8-1V1Z", p: "M0-1L.95-.31 .59.81H-.59L-.95-.31Z",
    o: "M-.9 0A.9.9 0 1 1 .9 0A.9.9 0 1 1-.9 0Z", "+": "M-1 0H1M0-1V1", P: "M-1 0H1M0-1V1", x: "M-.8-.8L.8.8M.8-.8L-.8.8", "*": "M-1 0H1M-.5-.87L.5.87M.5-.87L-.5.87"};
  const sign = ([, , kind, filled], x, y, stroke) => sv("path", {d: SIGNS[kind] || SIGNS.o, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(4)`,
    class: "sign", stroke, style: `fill:${"+Px*".includes(kind) ? "none" : filled ? stroke : "var(--page)"}`});

  const drawChart = (node, series, o) => {
    const wide = Math.max(260, node.clientWidth || 480), height = 300, left = 56, right = 10, top = 10, bottom = 40;
    const points = series.flatMap((s) => s.points);
    if (!points.length) return node.replaceChildren(el("p", {class: "soft"}, "Nothing was measured."));
    const range = (values) => [Math.min(...values), Math.max(...values)];
    const [x0, x1] = range(points.map((p) => p[0])), [y0, y1] = range(points.flatMap((p) => [p[1], p[2] || p[1], p[3] || p[1]]));
    const lx = (v) => left + (x1 > x0 ? Math.log(v / x0) / Math.log(x1 / x0) : 0.5) * (wide - left - right - 8);
    const a = Math.log10(y0) - 0.06, b = Math.log10(y1) + 0.06, ly = (v) => height - bottom - (Math.log10(v) - a) / (b - a) * (height - bottom - top);
    const out = [];
    const decades = b - a, factors = decades > 2.5 ? [1] : decades > 1 ? [1, 3] : [1, 2, 5];
    for (let e = Math.floor(a); e <= b; e++) for (const f of factors) {
      const v = f * 10 ** e;
      if (Math.log10(v) < a || Math.log10(v) > b) continue;
      out.push(sv("line", {x1: left, x2: wide - right, y1: ly(v), y2: ly(v), class: "rule"}), sv("text", {x: left - 5, y: ly(v) + 4, "text-anchor": "end", class: "soft"}, o.yText(v)));
    }
    let labelled = -1e9;
    for (const [v, text] of o.ticks) {
      if (v < x0 * 0.999 || v > x1 * 1.001) continue;
      out.push(sv("line", {x1: lx(v), x2: lx(v), y1: top, y2: height - bottom, class: "rule"}));
      if (lx(v) - labelled < 34) continue;
      labelled = lx(v);
      out.push(sv("text", {x: lx(v), y: height - bottom + 16, "text-anchor": "middle", class: "soft"}, text));
    }
    out.push(sv("text", {x: (left + wide) / 2, y: height - 6, "text-anchor": "middle", class: "soft"}, o.xName));
    for (const s of series) {
      const stroke = colour(s.look[0]);
      out.push(sv("path", {d: s.points.map((p, i) => `${i ? "L" : "M"}${lx(p[0]).toFixed(1)} ${ly(p[1]).toFixed(1)}`).join(""), class: "curve", stroke, "stroke-dasharray": s.look[1]}));
      s.points.forEach((p, i) => {
        if (p[2] && p[3]) out.push(sv("line", {x1: lx(p[0]), x2: lx(p[0]), y1: ly(p[2]), y2: ly(p[3]), stroke, class: "whisker"}));
        if (i % o.every === 0) out.push(sign(s.look, lx(p[0]), ly(p[1]), stroke));
      });
    }
    const mark = sv("circle", {r: 6, fill: "none", class: "cross", style: "display:none"});
    const svg = sv("svg", {viewBox: `0 0 ${wide} ${height}`, height, role: "img", "aria-label": o.title}, ...out, mark);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null;
      for (const s of series) for (const p of s.points) {
        const far = Math.hypot(lx(p[0]) - x, ly(p[1]) - y);
        if (far < 60 && (!best || far < best.far)) best = {far, s, p};
      }
      mark.style.display = best ? "" : "none";
      if (best) { mark.setAttribute("cx", lx(best.p[0])); mark.setAttribute("cy", ly(best.p[1])); }
      showTip(best ? o.say(best.s, best.p) : "", event);
    });
    svg.addEventListener("pointerleave", () => { mark.style.display = "none"; showTip(""); });
    node.replaceChildren(svg);
  };

  // One number of clients is no curve: a bar for each system.
  const drawBars = (node, series, o) => {
    const rows = [...series].filter((s) => s.points.length).sort((a, b) => b.points[0][1] - a.points[0][1]), most = rows.length ? rows[0].points[0][1] : 1;
    node.replaceChildren(el("ul", {class: "bars"}, ...rows.map((s) => {
      const bar = el("i", {style: `width:${(100 * s.points[0][1] / most).toFixed(1)}%;background:${colour(s.look[0])}`});
      const item = el("li", {}, el("span", {}, s.name), el("span", {}, bar), el("b", {}, o.yText(s.points[0][1])));
      item.addEventListener("pointermove", (event) => showTip(o.say(s, s.points[0]), event));
      item.addEventListener("pointerleave", () => showTip(""));
      return item;
    })));
  };

  const speedOf = (load) => {
    const off = new Set(), rates = el("div", {class: "chart"}), waits = el("div", {class: "chart"});
    const metric = el("select", {"aria-label": "Measure"}, ...METRICS.filter((m, i) => Object.values(load.rates).some((of) => Object.values(of).some((row) => row[i][0]))).map((m) => el("option", {value: m}, UNITS[m])));
    const counts = load.clients.filter((c) => load.waits[c]);
    const clients = el("select", {"aria-label": "Clients"}, ...counts.map((c) => el("option", {value: c}, plural(c, "client"))));
    if (counts.length) clients.value = counts[counts.length - 1];
    const chosen = () => load.systems.filter((s) => !off.has(s));
    const paint = () => {
      const m = METRICS.indexOf(metric.value), text = metric.value.endsWith("_us") ? timeText : rateText;
      (load.clients.length > 1 ? drawChart : drawBars)(rates, chosen().map((name) => ({name, look: load.looks[name], points: Object.entries(load.rates[name] || {}).filter(([, row]) => row[m][0]).map(([c, row]) => [+c, ...row[m], row[4]])})),
        {title: `${UNITS[metric.value]} over clients`, every: 1, xName: "clients", ticks: load.clients.map((c) => [c, String(c)]), yText: text,
          say: (s, p) => `${s.name}, ${plural(p[0], "client")}: ${text(p[1])}${metric.value.endsWith("_us") ? "" : ` ${UNITS[metric.value]}`}\n${p[2] ? `95 % interval ${text(p[2])} to ${text(p[3])}, ` : ""}${plural(p[4], "repeat")}`});
      const of = load.waits[clients.value] || {};
      drawChart(waits, chosen().filter((name) => of[name]).map((name) => ({name, look: load.looks[name], points: of[name].map(([x, y]) => [x, y])})),
        {title: "wait for a grant over percentiles", every: 5, xName: "percentile of acquires", yText: timeText,
          ticks: [[1, "0"], [2, "50"], [10, "90"], [100, "99"], [1e3, "99.9"], [1e4, "99.99"], [1e5, "99.999"], [1e6, "99.9999"]],
          say: (s, p) => `${s.name}: ${+(100 * (1 - 1 / p[0])).toFixed(4)} % wait at most ${timeText(p[1])}`});
    };
    metric.addEventListener("change", paint);
    clients.addEventListener("change", paint);
    const legend = el("div", {class: "series"}, ...load.systems.map((name) => {
      const [c, dash] = load.looks[name], stroke = colour(c);
      const b = button("", () => { if (!off.delete(name)) off.add(name); b.setAttribute("aria-pressed", String(!off.has(name))); paint(); }, {"aria-pressed": "true"});
      b.append(sv("svg", {viewBox: "0 0 24 8"}, sv("line", {x1: 0, x2: 24, y1: 4, y2: 4, style: `stroke:${stroke}`, "stroke-width": 2, "stroke-dasharray": dash}), sign(load.looks[name], 12, 4, stroke)), name);
      return b;
    }));
    return [el("div", {class: "load"}, el("h3", {}, `${load.name}, ${load.locks}`), legend,
      el("div", {class: "charts"}, el("div", {}, el("div", {class: "tools"}, metric, load.clients.length > 1 ? "" : el("span", {}, plural(load.clients[0], "client"))), rates), counts.length ? el("div", {}, el("div", {class: "tools"}, el("span", {}, "Wait for a grant,"), clients), waits) : ""),
      el("p", {class: "soft"}, `${load.note}. A violated lock has no speed worth comparing.`)), paint];
  };
  const loads = data.speed.map(speedOf);
  if (loads.length) $("speed").replaceChildren(...loads.map(([node]) => node));

  $("left").hidden = !data.left;
  $("left").textContent = `To keep this page below 3 MB, ${plural(data.left, "trial")} are left out of it, safe ones first. Their cells have the command that tells them.`;

  // ---- addresses ----

  let scrolled = 0, from = null, filterAddress = "#table";
  const route = () => {
    const [name, value] = location.hash.slice(1).split(/=(.*)/s);
    let word = value || "";
    try { word = decodeURIComponent(word); } catch { /* typed by hand */ }
    showTip("");
    if (name === "cell") {
      if ($("trial").hidden) scrolled = scrollY;
      from = word;
      const ready = drawTrial(word);
      $("overview").hidden = true;
      document.body.classList.remove("wide");
      $("trial").hidden = false;
      document.title = `lockbench: ${word}`;
      if (ready) ready();
      scrollTo(0, 0);
      $("trial").focus({preventScroll: true});
      return;
    }
    const was = !$("trial").hidden;
    $("trial").hidden = true;
    $("trial").replaceChildren();
    shown = [];
    $("overview").hidden = false;
    if (name === "filter") {
      filterAddress = location.hash;
      takeFilter(value);
      draw();
    }
    document.title = `lockbench: ${data.id}`;
    if (was) {
      redraw();
      scrollTo(0, scrolled);
      const link = [...document.querySelectorAll("td a")].find((a) => a.dataset.id === from);
      if (link) link.focus({preventScroll: true});
    }
    if (name === "scenario") {
      const found = [...document.querySelectorAll(".asked")].find((d) => d.querySelector("strong").textContent === word);
      if (found) { found.open = true; found.scrollIntoView(); found.querySelector("summary").focus({preventScroll: true}); }
    }
  };
  const paintAll = () => { for (const [, paint] of loads) paint(); };
  addEventListener("hashchange", route);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !$("trial").hidden) location.hash = filterAddress;
  });
  let width = document.documentElement.clientWidth;
  addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    redraw();
  });
  const redraw = () => {
    if ($("overview").hidden) for (const l of shown) l.draw();
    else { draw(); paintAll(); }
  };
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });

  openFilter();
  draw();
  paintAll();
  route();
})();
