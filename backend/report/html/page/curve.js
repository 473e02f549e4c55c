// curve.js - the heap over time: the total, what libraries held of it where that is known, marks,
// and a brush that chooses two instants. The brush stops only at instants whose stacks are known.

const SVG = 'http://www.w3.org/2000/svg';

function svg(name, attributes, parent, text) {
	const e = document.createElementNS(SVG, name);

	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	if (parent)
		parent.append(e);
	return e;
}

// A round step for some `n` lines: 1, 2 or 5 of a power, of 1024 for bytes.
function roundStep(most, n, power) {
	let unit = 1;

	while (unit * power <= most / n)
		unit *= power;
	for (const k of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000])
		if (k * unit >= most / n)
			return k * unit;
	return unit;
}

class Curve {
	constructor(model, colours, onChange) {
		Object.assign(this, { model, colours, onChange, box: $('curve'), resident: false });
		this.stacks = this.knownStacks();
		this.shownOwners = this.largestOwners();
		new ResizeObserver(() => this.draw()).observe(this.box);
		this.box.addEventListener('pointerdown', (e) => this.onDown(e));
		this.box.addEventListener('pointermove', (e) => this.onMove(e));
		this.box.addEventListener('pointerleave', () => hideTip());
		this.box.addEventListener('keydown', (e) => this.onKey(e));
	}

	// [{ time, owners }]: from the agent's own memory, and from instants with stacks.
	knownStacks() {
		const { owner_history: past, owners } = this.model.data, list = [];

		for (const [ms, ...bytes] of past.points) {
			const sums = new Float64Array(owners.length);

			past.owner.forEach((o, i) => o >= 0 && (sums[o] += bytes[i]));
			list.push({ time: ms / 1000, owners: sums });
		}
		for (const instant of this.model.instants)
			list.push({ time: instant.time, owners: this.model.ownersAt(instant) });
		return list.sort((a, b) => a.time - b.time);
	}

	largestOwners() {
		const most = this.model.data.owners.map((o, i) => Math.max(...this.stacks.map((s) => s.owners[i])));

		return most.map((m, i) => i).filter((i) => most[i] > 0).sort((a, b) => most[b] - most[a]).slice(0, HUES.length);
	}

	draw() {
		const { timeline, totals, marks } = this.model.data;
		const wide = this.printing ? PAPER : Math.max(280, this.box.clientWidth), high = 230;
		const root = svg('svg', { viewBox: `0 0 ${wide} ${high}`, role: 'group', 'aria-label': 'Heap over time' });
		const first = timeline.time_ms.length ? Math.min(0, timeline.time_ms[0] / 1000) : 0;
		const last = Math.max(totals.time_s, 0.001);
		const most = Math.max(totals.peak_bytes, ...timeline.live_bytes, 1, ...(this.resident ? timeline.rss_bytes : []));
		const area = { left: 56, right: wide - 12, top: 24, bottom: high - 24 };

		this.x = (s) => area.left + (s - first) / (last - first) * (area.right - area.left);
		this.y = (n) => area.bottom - n / (most * 1.04) * (area.bottom - area.top);
		this.time = (x) => first + (x - area.left) / (area.right - area.left) * (last - first);
		this.area = area;
		this.labelled = 0;
		this.axes(root, most, last);
		this.areas(root);
		this.lines(root);
		for (const m of marks)
			this.mark(root, m);
		this.selection(root);
		const held = document.activeElement && document.activeElement.dataset && document.activeElement.dataset.end;
		this.box.replaceChildren(root);
		if (held)
			this.box.querySelector(`[data-end=${held}]`).focus();
	}

	axes(root, most, last) {
		const { left, right, top, bottom } = this.area;
		const step = roundStep(most, 4, 1024), seconds = roundStep(last * 1e6, (right - left) / 110, 10) / 1e6;

		for (let n = 0; n <= most * 1.04; n += step) {
			svg('line', { class: 'grid', x1: left, x2: right, y1: this.y(n), y2: this.y(n) }, root);
			svg('text', { x: left - 6, y: this.y(n) + 4, 'text-anchor': 'end' }, root, bytesText(n));
		}
		for (let s = 0; s <= last; s += seconds)
			svg('text', { x: this.x(s), y: bottom + 16, 'text-anchor': 'middle' }, root,
				last < 1 ? +(s * 1000).toFixed(3) + ' ms' : s < 120 ? +s.toFixed(3) + ' s' : timeText(s));
		for (const i of this.model.instants)
			svg('line', { class: 'known', x1: this.x(i.time), x2: this.x(i.time), y1: bottom, y2: bottom + 4 }, root);
		svg('text', { x: left - 6, y: top - 10, 'text-anchor': 'end' }, root, 'live');
	}

	// The peak lies on it: the timeline may have no instant there.
	totalPath() {
		const { timeline: { time_ms: at, live_bytes: live }, totals } = this.model.data;
		const points = at.map((ms, i) => [ms / 1000, live[i]]), later = points.findIndex(([s]) => s > totals.peak_s);

		if (points.length)
			points.splice(later < 0 ? points.length : later, 0, [totals.peak_s, totals.peak_bytes]);
		return points.map(([s, n]) => `${this.x(s).toFixed(1)},${this.y(n).toFixed(1)}`);
	}

	// The total in grey; libraries over it, cut off at the total: between two known instants a
	// straight line may differ from what was.
	areas(root) {
		const { bottom } = this.area, points = this.totalPath();

		if (!points.length)
			return;
		const x = (p) => p.split(',')[0];
		const d = `M${x(points[0])},${bottom}L${points.join('L')}L${x(points[points.length - 1])},${bottom}Z`;
		const base = new Float64Array(this.stacks.length);

		svg('path', { d }, svg('clipPath', { id: 'below' }, root));
		svg('path', { class: 'total', d }, root);
		const group = svg('g', { 'clip-path': 'url(#below)' }, root);
		for (const owner of this.shownOwners) {
			const low = this.stacks.map((s, i) => `${this.x(s.time).toFixed(1)},${this.y(base[i]).toFixed(1)}`);
			const top = this.stacks.map((s, i) => `${this.x(s.time).toFixed(1)},${this.y(base[i] += s.owners[owner]).toFixed(1)}`);

			svg('path', { d: `M${top.join('L')}L${low.reverse().join('L')}Z`,
				fill: this.colours.of(this.model.data.owners[owner][0]) }, group);
		}
	}

	lines(root) {
		const { time_ms: at, rss_bytes: rss } = this.model.data.timeline, { totals } = this.model.data;
		const points = this.totalPath();

		if (points.length)
			svg('path', { class: 'live', d: 'M' + points.join('L') }, root);
		const told = at.map((ms, i) => [ms, rss[i]]).filter(([, n]) => n);
		if (this.resident && told.length)
			svg('path', { class: 'resident', d: 'M' + told.map(([ms, n]) =>
				`${this.x(ms / 1000).toFixed(1)},${this.y(n).toFixed(1)}`).join('L') }, root);
		const peak = svg('circle', { class: 'peak', cx: this.x(totals.peak_s), cy: this.y(totals.peak_bytes), r: 3.5 }, root);
		svg('title', {}, peak, `peak ${bytesText(totals.peak_bytes)} at ${timeText(totals.peak_s)}`);
	}

	mark(root, [id, name, , time]) {
		const { top, bottom, right } = this.area, x = this.x(time);

		svg('line', { class: 'mark', x1: x, x2: x, y1: top - 6, y2: bottom }, root);
		if (x < this.labelled + 8)
			return;
		const label = svg('text', { class: 'mark-name', x: Math.min(x, right - 8), y: top - 10,
			'text-anchor': x > right - 60 ? 'end' : 'start' }, root, name.length > 18 ? name.slice(0, 17) + '\u2026' : name);
		svg('title', {}, label, `m${id} ${name}`);
		this.labelled = x + 6.4 * Math.min(18, name.length);
	}

	selection(root) {
		const { top, bottom } = this.area, { from, to } = this.model;

		if (!this.model.wholeChosen)
			svg('rect', { class: 'selected', x: this.x(from.time), y: top, width: Math.max(1, this.x(to.time) - this.x(from.time)),
				height: bottom - top }, root);
		for (const [end, instant] of [['from', from], ['to', to]]) {
			const x = this.x(instant.time), at = this.model.instants.indexOf(instant);
			const g = svg('g', { class: 'handle', tabindex: 0, role: 'slider', 'data-end': end,
				'aria-label': end === 'from' ? 'Growth from' : 'Growth to', 'aria-valuemin': 0,
				'aria-valuemax': this.model.instants.length - 1, 'aria-valuenow': at,
				'aria-valuetext': `${instant.name}, ${timeText(instant.time)}` }, root);

			svg('line', { x1: x, x2: x, y1: top, y2: bottom }, g);
			svg('rect', { x: x - 4, y: (top + bottom) / 2 - 12, width: 8, height: 24, rx: 3 }, g);
		}
	}

	nearest(x) {
		return this.model.instants.reduce((best, i) => Math.abs(this.x(i.time) - x) < Math.abs(this.x(best.time) - x) ? i : best);
	}

	position(e) {
		const box = this.box.firstChild.getBoundingClientRect();

		return (e.clientX - box.left) * this.box.firstChild.viewBox.baseVal.width / box.width;
	}

	onDown(e) {
		const handle = e.target.closest('.handle'), x = this.position(e), { from, to } = this.model;

		e.preventDefault();
		this.box.setPointerCapture(e.pointerId);
		this.fixed = !handle ? this.nearest(x) : handle.dataset.end === 'from' ? to : from;
		this.box.addEventListener('pointerup', () => (this.fixed = null), { once: true });
	}

	onMove(e) {
		const x = this.position(e);

		if (this.fixed) {
			const other = this.nearest(x);

			if (other !== this.fixed && ![this.model.from, this.model.to].every((i) => i === other || i === this.fixed))
				this.onChange(this.fixed, other);
			return;
		}
		this.tellAt(e, this.time(x));
	}

	tellAt(e, time) {
		const { time_ms: at, live_bytes: live, live_blocks: blocks, rss_bytes: rss } = this.model.data.timeline;
		let i = 0;

		while (i + 1 < at.length && Math.abs(at[i + 1] / 1000 - time) <= Math.abs(at[i] / 1000 - time))
			i++;
		if (at.length)
			showTip(e, [[timeText(at[i] / 1000)], [`live ${bytesText(live[i])} in ${countText(blocks[i])} blocks`],
				...(rss[i] ? [[`resident ${bytesText(rss[i])}`]] : [])]);
	}

	onKey(e) {
		const end = e.target.dataset && e.target.dataset.end, { instants, from, to } = this.model;
		const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -1e9, End: 1e9 }[e.key];

		if (!end || !step)
			return;
		e.preventDefault();
		const clamp = (i, low, high) => Math.max(low, Math.min(high, i));
		const a = instants.indexOf(from), b = instants.indexOf(to);

		if (end === 'from')
			this.onChange(instants[clamp(a + step, 0, b - 1)], to);
		else
			this.onChange(from, instants[clamp(b + step, a + 1, instants.length - 1)]);
	}

	legend(list) {
		const { owners } = this.model.data;

		list.replaceChildren(...this.shownOwners.map((i) => {
			const item = document.createElement('li'), swatch = document.createElement('span');

			swatch.className = 'swatch';
			swatch.style.background = this.colours.of(owners[i][0]);
			item.append(swatch, `${owners[i][0]} ${bytesText(owners[i][1])}`);
			return item;
		}));
		if (this.shownOwners.length && this.stacks.length) {
			const item = document.createElement('li'), swatch = document.createElement('span');

			swatch.className = 'swatch';
			swatch.style.background = this.colours.plain;
			item.append(swatch, `library not known (known at ${this.stacks.length} instants, straight lines between them)`);
			list.append(item);
		}
	}
}
