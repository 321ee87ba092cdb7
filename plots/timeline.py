# SPDX-License-Identifier: MIT
"""timeline.py - the story of one history, out of its events, and its drawing for violation.py."""

import figure
import style

HOLD, HOLD_EDGE, SHADE, FAULT = "#9CCBE8", style.BLUE, "#F9D9C4", "#C8C8C8"
ENDS_HOLD = ("release", "lost", "crash")
MANY_TEXTS = 16  # accesses of a client; of more none is named
MANY = 400  # events; of a longer history only the surroundings of its first overlap are drawn, or else its end
ENLARGE_BELOW = 0.15  # share of the width
LEGEND = 0.42  # inches: two lines
ROW, LANE, LEVEL = 0.19, 0.64, 0.145  # inches: a fault, a client, a line of small texts
# Verbs of faults, and of what ends them.
LASTING = {"cut": {"heal"}, "slow": {"heal"}, "drop": {"heal"}, "hold": {"release", "heal"}, "pause": {"resume"}, "kill": {"restart"}}


def _sides(fault):
    return {fault.get("role"), fault.get("from")}


def _ends(fault, later):
    """Does an event end a fault? In a campaign a fact says so; in a timeline its counterpart does, of the same role, or of nobody: `heal`
    mends all links."""
    if later["e"] == "over":
        return later.get("step") is not None and later["step"] == fault.get("step")
    return (later["e"] == "fault" and later.get("verb") is not None
            and later["verb"] in LASTING.get(fault.get("verb"), ())
            and (later.get("role") is None or _sides(later) == _sides(fault)))


def _touched(events, fault):
    """The hosts that a fault is done to, and of a link those of the other side."""
    step = events[fault].get("step")
    fact = next((e for e in events[fault:] if e["e"] == "touched" and e.get("step") == step), {})
    return [[host for host in (fact.get(side) or "").split(", ") if host] for side in ("host", "from")]


def _said(fact):
    """A fact that is drawn, in words; None for others."""
    if fact["e"] == "role":
        return f"{fact['role']} is {fact['host']}"
    if fact["e"] == "failover":
        return f"failover: {fact['host']} decides"
    if fact["e"] == "observed":
        where = f"on {fact['role']}" if "role" in fact else f"at {fact.get('host')}"
        return f"key {'present' if fact['present'] else 'absent'} {where}"
    return None


class Story:
    """Everything that is drawn; times in ms from the first event."""

    def __init__(self, events, episodes, zero=None, focus=None):
        """`episodes`: the double holds that `check --json` found; readers and permits hold together rightly. `events` may be a part
        of a history: then `zero` is the time of its first event, `focus` the episode that comes first, and nothing is cut."""
        self.zero = events[0]["t"] if zero is None else zero
        self.holds = self._holds(events)
        self.overlaps = sorted((self._ms(e["begin_ns"]), self._ms(e["end_ns"]), sorted(e["clients"])) for e in episodes)
        self.begin, self.end = self._ms(events[0]["t"]), self._ms(events[-1]["t"])
        if zero is not None:
            if focus is not None:
                self.overlaps.sort(key=lambda o: o[0] != self._ms(focus["begin_ns"]))
        elif len(events) > MANY and self.overlaps:
            low, high = self.overlaps[0][:2]
            self.begin, self.end = max(self.begin, low - 2 * (high - low)), min(self.end, high + 2 * (high - low))
        elif len(events) > MANY:
            self.begin = self._ms(events[-MANY]["t"])
        shown = [e for e in events if self.begin <= self._ms(e["t"]) <= self.end]
        self.holds = [h for h in self.holds if h["to"] >= self.begin and h["from"] <= self.end]
        self.accesses = [{"who": e["c"], "at": self._ms(e["t"]), "kind": e["e"], "value": e.get("value"),
                          "refused": e.get("ok") is False} for e in shown if e["e"] in ("read", "write")]
        self.asks = self._asks(shown)
        self.crashes = [(e["c"], self._ms(e["t"])) for e in shown if e["e"] == "crash"]
        self.faults = self._faults(shown)
        self.facts = self._facts(shown)
        self.clients = self._clients()

    def _ms(self, t):
        return (t - self.zero) / 1e6

    def _holds(self, events):
        holds, open_holds = [], {}
        for e in events:
            at = (e.get("c"), e.get("k"))
            if e["e"] == "granted":
                if at not in open_holds:
                    open_holds[at] = {"who": at[0], "key": at[1], "from": self._ms(e["t"]), "to": None, "ended": "end", "depth": 0}
                    holds.append(open_holds[at])
                open_holds[at]["depth"] += 1
                open_holds[at]["until"] = None if e.get("until") is None else self._ms(e["until"])
            elif e["e"] == "renewed" and at in open_holds:
                open_holds[at]["until"] = None if e.get("until") is None else self._ms(e["until"])
            elif e["e"] == "release" and at in open_holds and open_holds[at]["depth"] > 1:
                open_holds[at]["depth"] -= 1
            elif e["e"] in ENDS_HOLD:
                for key in [k for k in open_holds if k == at or (e["e"] == "crash" and k[0] == at[0])]:
                    open_holds.pop(key).update(to=self._ms(e["t"]), ended=e["e"])
        for hold in open_holds.values():
            hold["to"] = self._ms(events[-1]["t"])
        return holds

    def _asks(self, events):
        """From an acquire to its end; one without an end lasts to the edge."""
        asks, began = [], {}
        for e in events:
            at = (e.get("c"), e.get("k"))
            if e["e"] == "acquire":
                began.setdefault(at, self._ms(e["t"]))
            elif e["e"] in ("granted", "busy", "timeout", "unknown") and at in began:
                asks.append({"who": at[0], "from": began.pop(at), "to": self._ms(e["t"]), "outcome": e["e"]})
            elif e["e"] == "crash":
                for key in [k for k in began if k[0] == at[0]]:
                    asks.append({"who": key[0], "from": began.pop(key), "to": self._ms(e["t"]), "outcome": "crash"})
        asks += [{"who": who, "from": at, "to": self.end, "outcome": "open"} for (who, _), at in began.items()]
        return asks

    def _faults(self, events):
        """Each with its span; one that nothing ends lasts to the end, except a moment's, such as a clock that jumps."""
        faults, ending = [], set()
        for i, e in enumerate(events):
            if e["e"] != "fault" or i in ending:
                continue
            end = next((k for k in range(i + 1, len(events)) if _ends(e, events[k])), None)
            if end is not None:
                ending.add(end)
            lasts = e.get("verb") in LASTING
            at = self._ms(e["t"])
            sides = _touched(events, i)
            faults.append({"text": e["what"], "verb": e.get("verb"), "from": at, "hosts": sides[0] + sides[1], "sides": sides,
                           "to": self._ms(events[end]["t"]) if end is not None else self.end if lasts else at})
        return faults

    def _facts(self, events):
        """What was observed host by host is left out where it was observed of a role."""
        of_roles = any(e["e"] == "observed" and "role" in e for e in events)
        return [(self._ms(e["t"]), _said(e)) for e in events
                if _said(e) and not (of_roles and e["e"] == "observed" and "role" not in e)]

    def _clients(self):
        """Those that have something to show; in a long history those of the first overlap."""
        names = {h["who"] for h in self.holds} | {a["who"] for a in self.accesses} | {a["who"] for a in self.asks}
        if len(names) > 6 and self.overlaps:
            names = set(self.overlaps[0][2])
        return sorted(names, key=lambda n: (len(n), n))

    def rows(self):
        rows = [{"kind": "fault", "from_ms": f["from"], "to_ms": f["to"], "text": f["text"]} for f in self.faults]
        rows += [{"kind": "fact", "from_ms": at, "to_ms": at, "text": what} for at, what in self.facts]
        rows += [{"kind": "asks", "who": a["who"], "from_ms": a["from"], "to_ms": a["to"], "text": a["outcome"]}
                 for a in self.asks if a["who"] in self.clients]
        rows += [{"kind": "hold", "who": h["who"], "from_ms": h["from"], "to_ms": h["to"], "text": h["ended"],
                  "lease_ends_ms": h["until"]} for h in self.holds if h["who"] in self.clients]
        rows += [{"kind": a["kind"], "who": a["who"], "from_ms": a["at"], "to_ms": a["at"], "value": a["value"],
                  "refused": a["refused"]} for a in self.accesses if a["who"] in self.clients]
        rows += [{"kind": "overlap", "who": " ".join(who), "from_ms": low, "to_ms": high}
                 for low, high, who in self.overlaps if low <= self.end and high >= self.begin]
        return rows


# ---- the drawing -----------------------------------------------------------------------------------------------------


def length(ms):
    """A span as a reader would say it."""
    if ms >= 1000:
        return f"{ms / 1000:.3g} s"
    return f"{ms:.3g} ms" if ms >= 1 else f"{1000 * ms:.3g} µs"


class Levels:
    """Texts in one line, and in the next where they would meet. Widths are those of a text of 8 points, about."""

    def __init__(self, per_inch):
        self.ends, self.char = [], 0.066 * per_inch

    def level(self, x, text, align="left"):
        wide = self.char * len(text)
        left = x - wide / 2 if align == "center" else x
        for i, end in enumerate(self.ends):
            if left >= end:
                break
        else:
            i = len(self.ends)
            self.ends.append(0)
        self.ends[i] = left + wide + self.char
        return i


class Panel:
    """One stretch of time: faults and facts above, clients below. y counts inches down from the top of the axes."""

    def __init__(self, story, begin, end, wide, with_texts):
        self.story, self.begin, self.end, self.with_texts = story, begin, end, with_texts
        self.per_inch = (end - begin) / wide
        self.faults = [f for f in story.faults if f["to"] >= begin and f["from"] <= end]
        levels = Levels(self.per_inch)
        self.facts = [(at, what, *self._beside(at, what, levels)) for at, what in story.facts if begin <= at <= end]
        self.fact_top = ROW * len(self.faults) + 0.06
        self.lane_top = self.fact_top + LEVEL * len(levels.ends) + 0.1 * bool(levels.ends) + 0.12 * bool(story.overlaps)
        self.height = self.lane_top + LANE * len(story.clients)

    def _beside(self, at, what, levels):
        """Right of its moment, or left of it where the picture ends."""
        wide = 0.066 * self.per_inch * len(what)
        if at + wide > self.end:
            return levels.level(max(self.begin, at - wide - 0.1 * self.per_inch), what), "right"
        return levels.level(at, what), "left"

    def draw(self, ax):
        ax.set_xlim(self.begin, self.end)
        ax.set_ylim(self.height, 0)
        ax.set_yticks([self._lane(c) for c in self.story.clients], self.story.clients)
        ax.tick_params(axis="y", length=0)
        ax.grid(False, axis="y")
        ax.spines["left"].set_visible(False)
        ax.locator_params(axis="x", nbins=6)
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)
        for low, high, _ in self.story.overlaps:
            self._overlap(ax, low, high)
        for i, fault in enumerate(self.faults):
            self._fault(ax, fault, ROW * (i + 0.5))
        for at, what, level, side in self.facts:
            self._fact(ax, at, what, self.fact_top + LEVEL * (level + 0.5), side)
        for ask in self.story.asks:
            if ask["who"] in self.story.clients and ask["to"] >= self.begin and ask["from"] <= self.end:
                self._ask(ax, ask)
        for hold in self.story.holds:
            if hold["who"] in self.story.clients and hold["to"] >= self.begin and hold["from"] <= self.end:
                self._hold(ax, hold)
        for who in self.story.clients:
            self._accesses(ax, who)
        for who, at in self.story.crashes:
            if who in self.story.clients and self.begin <= at <= self.end:
                ax.text(at, self._lane(who), " † died", size=8, va="center", clip_on=True)

    def _lane(self, who):
        return self.lane_top + LANE * (self.story.clients.index(who) + 0.57)

    def _overlap(self, ax, low, high):
        if high < self.begin or low > self.end:
            return
        ax.axvspan(low, high, ymin=0, ymax=1 - (self.lane_top - 0.02) / self.height, color=SHADE, linewidth=0,
                   zorder=0.55)
        for edge in (low, high):
            ax.plot([edge, edge], [self.lane_top - 0.02, self.height], color=style.VERMILION, linewidth=0.8, zorder=0.6)
        text = f"both hold for {length(high - low)}"
        middle = (max(low, self.begin) + min(high, self.end)) / 2
        half = 0.035 * self.per_inch * len(text)
        middle = min(max(middle, self.begin + half), self.end - half)
        ax.text(middle, self.lane_top - 0.05, text, ha="center", va="bottom", size=8, weight="bold", color="#9A4300",
                bbox={"facecolor": "white", "linewidth": 0, "pad": 0.6})

    def _fault(self, ax, fault, y):
        low, high = max(fault["from"], self.begin), min(fault["to"], self.end)
        ax.fill_between([low, high], y - 0.4 * ROW, y + 0.4 * ROW, color=FAULT, linewidth=0)
        for edge in (fault["from"], fault["to"]):
            if self.begin <= edge < self.end:
                ax.plot([edge, edge], [y - 0.4 * ROW, self.height], color=style.GREY, linewidth=0.7,
                        linestyle=(0, (3, 2)), zorder=0.7)
        wide, pad = 0.066 * self.per_inch * len(fault["text"]), 0.06 * self.per_inch
        if low + wide + pad <= self.end:
            ax.text(low + pad, y, fault["text"], ha="left", va="center", size=8)
        else:
            ax.text(low - pad, y, fault["text"], ha="right", va="center", size=8)

    def _fact(self, ax, at, what, y, side):
        pad = 0.07 * self.per_inch
        ax.plot([at], [y], marker="d", markersize=3.5, color=style.DARK_GREY, clip_on=False)
        ax.text(at + (pad if side == "left" else -pad), y, what, ha=side, va="center", size=8, color=style.DARK_GREY,
                bbox={"facecolor": "white", "linewidth": 0, "pad": 0.6})

    def _ask(self, ax, ask):
        y = self._lane(ask["who"])
        ax.plot([ask["from"], ask["to"]], [y, y], color=style.GREY, linewidth=1, linestyle=(0, (1, 1.5)))
        if ask["outcome"] == "open":
            ax.text(min(ask["to"], self.end), y, "still asks ", size=8, ha="right", va="bottom", color=style.DARK_GREY)
        elif ask["outcome"] not in ("granted", "crash"):
            ax.text(ask["to"], y, f" {ask['outcome']}", size=8, va="center", color=style.DARK_GREY, clip_on=True)

    def _hold(self, ax, hold):
        """A bar; what lies behind the end of the lease is hatched, and the end is a black line."""
        y, until = self._lane(hold["who"]), hold["until"]
        leased = hold["to"] if until is None else min(max(until, hold["from"]), hold["to"])
        bar = {"height": 0.26, "edgecolor": HOLD_EDGE, "linewidth": 0.9}
        ax.barh(y, leased - hold["from"], left=hold["from"], facecolor=HOLD, **bar)
        if leased < hold["to"]:
            ax.barh(y, hold["to"] - leased, left=leased, facecolor="white", hatch="//////", **bar)
        if until is not None and self.begin <= until <= self.end:
            ax.plot([until, until], [y - 0.2, y + 0.2], color="black", linewidth=1.6)
            ax.text(until - 0.04 * self.per_inch, y + 0.15, "lease ends", ha="right", va="top", size=8)
        elif until is not None and until > self.end:
            text, low, high = f"lease until {until:.0f} ms", max(hold["from"], self.begin), min(hold["to"], self.end)
            if high - low > 0.08 * self.per_inch * len(text):
                ax.text(low + 0.04 * self.per_inch, y + 0.15, text, ha="left", va="top", size=8)
        ended = {"release": "", "end": "", "crash": "", "lost": "lost"}[hold["ended"]]
        if ended and hold["to"] < self.end:
            ax.text(hold["to"] + 0.04 * self.per_inch, y, ended, size=8, va="center", color=style.DARK_GREY)

    def _accesses(self, ax, who):
        y = self._lane(who)
        mine = [a for a in self.story.accesses if a["who"] == who and self.begin <= a["at"] <= self.end]
        for a in mine:
            more = {"marker": "o" if a["kind"] == "read" else "s", "markersize": 5, "color": "black",
                    "markerfacecolor": "white" if a["kind"] == "read" else "black"}
            if a["refused"]:
                more = {"marker": "X", "markersize": 6.5, "color": "white", "markeredgecolor": "black",
                        "markeredgewidth": 0.9}
            ax.plot([a["at"]], [y], zorder=4, **more)
        if self.with_texts and len(mine) <= MANY_TEXTS:
            levels = Levels(self.per_inch)
            for at, text in self._said(mine):
                ax.text(at, y - 0.16 - 0.12 * levels.level(at, text, "center"), text, ha="center", va="bottom", size=8)

    def _said(self, accesses):
        """One text for accesses that lie close together: (where, text)."""
        groups = []
        for a in accesses:
            text = a["kind"] if a["value"] is None else f"{a['kind']} {a['value']}"
            text += " refused" if a["refused"] else ""
            if groups and a["at"] - groups[-1][0][-1] < 0.4 * self.per_inch:
                groups[-1][0].append(a["at"])
                groups[-1][1].append(text)
            else:
                groups.append(([a["at"]], [text]))
        return [((at[0] + at[-1]) / 2, ", ".join(texts)) for at, texts in groups]


def legend(fig, bottom):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def mark(label, **more):
        return Line2D([], [], linestyle="none", label=label, color="black", **more)

    handles = [
        Patch(facecolor=HOLD, edgecolor=HOLD_EDGE, label="holds"),
        Patch(facecolor="white", edgecolor=HOLD_EDGE, hatch="//////", label="holds, past its lease"),
        Line2D([], [], color=style.GREY, linestyle=(0, (1, 1.5)), label="asks"),
        mark("read", marker="o", markersize=5, markerfacecolor="white"), mark("write", marker="s", markersize=5),
        mark("refused", marker="X", markersize=6.5, markerfacecolor="white"),
        Patch(facecolor=FAULT, label="fault"),
        Patch(facecolor=SHADE, edgecolor=style.VERMILION, label="two hold at once"),
    ]
    fig.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, bottom), ncol=4, columnspacing=1.3, labelspacing=0.25,
               handlelength=1.6, handletextpad=0.5, fontsize=8)


def panels_of(story, wide):
    overlap = next((o for o in story.overlaps if o[1] > o[0]), None)
    spare = 0.02 * (story.end - story.begin) or 1
    begin, end = story.begin - spare, story.end + spare
    if overlap is None or overlap[1] - overlap[0] >= ENLARGE_BELOW * (end - begin):
        return [Panel(story, begin, end, wide, True)]
    span = overlap[1] - overlap[0]
    enlarged = Panel(story, overlap[0] - 0.7 * span, overlap[1] + 0.9 * span, wide, True)
    return [Panel(story, begin, end, wide, False), enlarged]


def paint(run, story, name):
    left, right, width = 0.6, 0.2, style.TEXT_WIDTH
    panels = panels_of(story, width - left - right)
    notes = ["times from the first event; a hold lasts from the grant read to the release sent, the loss learned or "
             "the crash"]
    axis, between = 0.36, 0.12
    fig, foot = figure.canvas(width, sum(p.height + axis for p in panels) + between * (len(panels) - 1) + LEGEND, name, notes, run)
    height, top = fig.get_size_inches()[1], figure.HEAD
    for i, panel in enumerate(panels):
        ax = fig.add_axes((left / width, 1 - (top + panel.height) / height,
                           (width - left - right) / width, panel.height / height))
        panel.draw(ax)
        ax.set_xlabel("ms" if i == len(panels) - 1 else "ms (below: the marked part, enlarged)", labelpad=1)
        top += panel.height + axis + between
    legend(fig, foot / height)
    return fig
