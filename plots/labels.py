# SPDX-License-Identifier: MIT
"""labels.py - texts beside points, so that none covers another text, a point or a line.

Points are taken in some order, and each text gets the first free place of a fixed list that goes outwards from its
point, and a thin line to it where it ends up away from it. Several orders are tried, and the one whose texts are
nearest is drawn. The same points give the same picture: what is random is seeded.
"""

import random

RISES = [0] + [sign * rise for rise in (10, 15, 20, 26, 33, 41, 50, 60, 72, 86, 102, 120) for sign in (1, -1)]
REACHES = (8, 18, 30, 45, 64, 90, 120, 160, 200)
NEAR = 11  # typographic points; farther away a text needs a line to its point
NOWHERE = 10000  # the cost of a text that has no place
ORDERS = 40


def _cost(dx, dy):
    return abs(dx) + 1.6 * abs(dy)


def _places():
    """(where the text lies: 1 right of it, -1 left, 0 around it, dx, dy) in typographic points, near ones first."""
    places = [(side, side * reach, rise) for side in (1, -1) for reach in REACHES for rise in RISES]
    places += [(0, 0, rise) for rise in RISES if rise]
    return sorted(places, key=lambda p: (_cost(p[1], p[2]), -p[0], -p[2]))


PLACES = _places()


def _overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _crosses(line, box):
    """Does a line, as points along it, go through the box?"""
    return any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in line)


class Layout:
    """In typographic points; boxes are (x0, y0, x1, y1)."""

    def __init__(self, at, sizes, frame):
        self.at, self.sizes, self.frame = at, sizes, frame
        self.dots = [(x - 6, y - 6, x + 6, y + 6) for x, y in at]
        self.cores = [(x - 3.5, y - 3.5, x + 3.5, y + 3.5) for x, y in at]

    def _box(self, i, place):
        side, dx, dy = place
        wide, high = self.sizes[i]
        x, y = self.at[i][0] + dx + (0 if side > 0 else -wide if side < 0 else -wide / 2), self.at[i][1] + dy - high / 2
        return (x, y, x + wide, y + high)

    def line(self, i, place):
        _, dx, dy = place
        if abs(dx) <= NEAR and abs(dy) <= NEAR:
            return []
        x, y = self.at[i]
        return [(x + dx * k / 40, y + dy * k / 40) for k in range(1, 40)]

    def _free(self, i, box, line, texts, lines):
        left, bottom, right, top = self.frame
        inside = left <= box[0] and box[2] <= right and bottom <= box[1] and box[3] <= top
        return (inside and not any(_overlap(box, other) for other in (*self.dots, *texts))
                and not any(_crosses(line, core) for k, core in enumerate(self.cores) if k != i)
                and not any(_crosses(line, text) for text in texts)
                and not any(_crosses(other, box) for other in lines))

    def in_order(self, order):
        """(cost, {i: place}); a text without a place is not in it."""
        texts, lines, chosen, cost = [], [], {}, 0
        for i in order:
            for place in PLACES:
                box, line = self._box(i, place), self.line(i, place)
                if self._free(i, box, line, texts, lines):
                    chosen[i] = place
                    texts.append(box)
                    lines.append(line)
                    break
            cost += _cost(*chosen[i][1:]) if i in chosen else NOWHERE
        return cost, chosen

    def best(self):
        rng, n = random.Random(1), range(len(self.at))
        orders = [sorted(n, key=lambda i: (sign * self.at[i][axis], i)) for axis in (1, 0) for sign in (-1, 1)]
        orders += [rng.sample(n, len(n)) for _ in range(ORDERS)]
        return min((self.in_order(order) for order in orders), key=lambda found: found[0])[1]


def beside_points(fig, ax, points, size=8):
    """points: (x, y, text, colour of the line to it), x and y in the units of the axes, whose limits are final.
    Returns how many texts found no place; they stand right of their points all the same."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer, scale = FigureCanvasAgg(fig).get_renderer(), 72 / fig.dpi
    frame = [v * scale for v in ax.get_window_extent(renderer).extents]
    at = [(x * scale, y * scale) for x, y in ax.transData.transform([(x, y) for x, y, _, _ in points])]
    sizes = []
    for _, _, text, _ in points:
        probe = fig.text(0, 0, text, size=size)
        extent = probe.get_window_extent(renderer)
        sizes.append((extent.width * scale + 2, extent.height * scale + 1))
        probe.remove()
    layout = Layout(at, sizes, frame)
    chosen = layout.best()
    for i, (x, y, text, colour) in enumerate(points):
        side, dx, dy = chosen.get(i, PLACES[0])
        if i in chosen and layout.line(i, chosen[i]):
            line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0 if side else 5, "shrinkB": 4}
            ax.annotate("", (x, y), (dx, dy), textcoords="offset points", arrowprops=line)
        ax.annotate(text, (x, y), (dx, dy), textcoords="offset points", va="center", size=size,
                    ha={1: "left", -1: "right", 0: "center"}[side])
    return len(points) - len(chosen)
