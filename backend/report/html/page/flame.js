// flame.js - the flame graph on a canvas. Only frames that are wider than a pixel and in view are
// laid out and drawn, so a call tree of a million nodes costs what is on the screen. Children are
// sorted by weight: below the first that is too narrow, none is wide enough.

const ROW = 19, NARROWEST = 1, MOVE_MS = 160;
const PAPER = 860; // pixels across a printed page

class Flame {
	constructor(model, colours, hooks) {
		Object.assign(this, { model, colours, hooks, zoomed: 0, focus: 0, hover: -1, upwards: false,
			sorted: new Map(), range: [0, 1], box: $('flame'), canvas: $('canvas'), spacer: $('spacer') });
		this.context = this.canvas.getContext('2d', { alpha: false });
		this.box.addEventListener('scroll', () => this.paint());
		this.box.addEventListener('click', (e) => this.onClick(e));
		this.box.addEventListener('pointermove', (e) => this.onMove(e));
		this.box.addEventListener('pointerleave', () => this.setHover(-1));
		this.box.addEventListener('keydown', (e) => this.onKey(e));
		new ResizeObserver(() => this.layout()).observe(this.box);
	}

	show(values, unit) {
		Object.assign(this, { values, unit });
		this.sorted.clear();
		this.places = null;
		if (!values.incl[this.zoomed])
			this.zoomed = 0;
		if (!values.incl[this.focus])
			this.focus = this.zoomed;
		this.range = this.rangeOf(this.zoomed);
		this.layout();
		this.hooks.zoomed(this.zoomed);
		this.tell(this.focus);
	}

	// --- where frames lie, in units of what is shown

	children(node) {
		let list = this.sorted.get(node);

		if (!list) {
			const { first, next } = this.model.tree, { incl } = this.values;

			list = [];
			for (let c = first[node]; c; c = next[c])
				if (incl[c] > 0)
					list.push(c);
			list.sort((a, b) => incl[b] - incl[a] || a - b);
			this.sorted.set(node, list);
		}
		return list;
	}

	rangeOf(node) {
		const { parent } = this.model.tree, { incl } = this.values;
		let x = 0;

		for (let n = node; n > 0; n = parent[n])
			for (const c of this.children(parent[n])) {
				if (c === n)
					break;
				x += incl[c];
			}
		return [x, x + (incl[node] || 1)];
	}

	// boxes[depth] = [{ node, x, w }], in pixels, from the left.
	layout() {
		if (!this.values)
			return;
		const wide = this.wide = this.printing ? PAPER : Math.max(1, this.box.clientWidth), [x0, x1] = this.range, scale = wide / (x1 - x0);
		const { incl } = this.values, { depth } = this.model.tree, open = [0, 0], boxes = [];

		while (open.length) {
			let x = open.pop();
			const node = open.pop(), left = (x - x0) * scale, right = left + incl[node] * scale;

			if (right <= 0 || left >= wide || right - left < NARROWEST)
				continue;
			(boxes[depth[node]] ||= []).push({ node, x: Math.max(0, left), w: Math.min(wide, right) - Math.max(0, left) });
			for (const c of this.children(node)) {
				if (incl[c] * scale < NARROWEST)
					break;
				open.push(c, x);
				x += incl[c];
			}
		}
		this.boxes = boxes;
		this.fit();
	}

	fit() {
		const content = Math.max(1, this.boxes.length) * ROW + 2, most = Math.min(content, innerHeight * .66, 720);
		const end = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;

		this.content = content;
		this.spacer.style.height = content + 'px';
		this.box.style.height = (this.printing ? Math.min(content, 1400) : most) + 2 + 'px';
		if (this.upwards)
			this.box.scrollTop = content - this.box.clientHeight - (this.placed ? end : 0);
		this.placed = true;
		this.paint();
	}

	top(depth) {
		return this.upwards ? this.content - (depth + 1) * ROW - 1 : depth * ROW + 1;
	}

	// --- drawing

	paint() {
		const { context: g, wide, colours } = this, high = this.box.clientHeight || 1;
		const ratio = this.printing ? 2 : devicePixelRatio || 1, scroll = this.box.scrollTop;

		if (!this.boxes)
			return;
		if (this.canvas.width !== Math.round(wide * ratio) || this.canvas.height !== Math.round(high * ratio)) {
			this.canvas.width = Math.round(wide * ratio);
			this.canvas.height = Math.round(high * ratio);
			this.canvas.style.height = high + 'px';
		}
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = colours.paper;
		g.fillRect(0, 0, wide, high);
		g.font = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
		g.textBaseline = 'middle';
		this.letter = g.measureText('0').width;
		this.boxes.forEach((row, depth) => {
			const y = this.top(depth) - scroll;

			if (y > -ROW && y < high)
				for (const box of row)
					this.frame(box, y, depth);
		});
		if (!this.values.incl[0]) {
			g.fillStyle = colours.text;
			g.fillText('Nothing: no call path has any of this.', 10, ROW * .6);
		}
	}

	frame({ node, x, w }, y, depth) {
		const { context: g, model, colours } = this, hit = model.hit(node);
		const outer = depth < model.tree.depth[this.zoomed];

		g.globalAlpha = hit ? 1 : outer ? .5 : model.hits ? .42 : 1;
		g.fillStyle = hit ? colours.hit : this.colour(node);
		g.fillRect(x, y, Math.max(.6, w - .6), ROW - 1);
		if (w > 4 * this.letter) {
			g.globalAlpha = model.hits && !hit ? .75 : 1;
			g.fillStyle = hit ? colours.hitInk : node ? colours.ink : colours.text;
			g.fillText(this.label(node, Math.floor((w - 8) / this.letter)), x + 4, y + ROW / 2);
		}
		g.globalAlpha = 1;
		if (node === this.hover || (node === this.focus && document.activeElement === this.box)) {
			g.strokeStyle = node === this.focus ? colours.accent : colours.text;
			g.lineWidth = node === this.focus ? 2 : 1;
			g.strokeRect(x + 1, y + 1, Math.max(1, w - 2.6), ROW - 3);
		}
	}

	colour(node) {
		const { model, colours } = this;

		if (model.diff)
			return colours.ofChange(model.part(node, this.unit), model.noise(node));
		const shade = (model.tree.frame[node] * 7 % 5 - 2) / 2;

		return !node ? colours.plain : this.by === 'library' ? colours.of(model.library(node), shade)
			: this.by === 'file' ? colours.ofName(model.file(node), shade) : colours.ofName(model.full(node));
	}

	label(node, letters) {
		const name = this.model.name(node), more = '  ' + (this.model.diff ? this.net(node, this.unit) : this.amount(node));

		return name.length > letters ? name.slice(0, letters - 1) + '\u2026' : name.length + more.length <= letters ? name + more : name;
	}

	amount(node) {
		return this.model.about(node, amountText(this.values.incl[node], this.unit));
	}

	net(node, unit) {
		return this.model.about(node, signed(this.model.values('net', unit).incl[node], (n) => amountText(n, unit)));
	}

	// --- zoom

	zoom(node) {
		this.zoomed = node;
		this.focus = node;
		this.hooks.zoomed(node);
		this.moveTo(this.rangeOf(node));
		this.tell(node);
	}

	moveTo(range) {
		const from = this.range, begin = performance.now();
		const step = (now) => {
			const part = Math.min(1, (now - begin) / MOVE_MS), ease = part * (2 - part);

			this.range = part === 1 ? range : [0, 1].map((i) => from[i] + (range[i] - from[i]) * ease);
			this.layout();
			this.moving = part < 1 ? requestAnimationFrame(step) : 0;
			if (part === 1)
				this.reveal(this.focus);
		};

		cancelAnimationFrame(this.moving || 0);
		if (matchMedia('(prefers-reduced-motion: reduce)').matches)
			step(begin + MOVE_MS);
		else
			this.moving = requestAnimationFrame(step);
	}

	reveal(node) {
		const y = this.top(this.model.tree.depth[node]), high = this.box.clientHeight;

		if (y < this.box.scrollTop)
			this.box.scrollTop = y - ROW;
		else if (y + ROW > this.box.scrollTop + high)
			this.box.scrollTop = y + 2 * ROW - high;
	}

	// --- pointer and keys

	at(e) {
		const box = this.canvas.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top + this.box.scrollTop;
		const depth = this.upwards ? Math.floor((this.content - 1 - y) / ROW) : Math.floor((y - 1) / ROW);
		const found = (this.boxes[depth] || []).find((b) => x >= b.x && x < b.x + b.w);

		return found ? found.node : -1;
	}

	onClick(e) {
		const node = this.at(e);

		if (node >= 0)
			this.zoom(node === this.zoomed ? Math.max(0, this.model.tree.parent[node]) : node);
	}

	onMove(e) {
		const node = this.at(e);

		this.setHover(node);
		if (node >= 0)
			showTip(e, this.words(node));
	}

	setHover(node) {
		if (node < 0)
			hideTip();
		if (node === this.hover)
			return;
		this.hover = node;
		this.paint();
	}

	change(node) {
		const { model, unit } = this, other = unit === 'bytes' ? 'blocks' : 'bytes';
		const held = (what) => model.about(node, amountText(model.values(what, unit).incl[node], unit));

		return `${this.net(node, unit)}${unit === 'blocks' ? ' blocks' : ''}: A ${held('before')}, B ${held('live')}; ` +
			`${this.net(node, other)}${other === 'blocks' ? ' blocks' : ''}; ${model.judged(node)}`;
	}

	words(node) {
		const { model, values, unit } = this, other = unit === 'bytes' ? 'blocks' : 'bytes';
		const place = [model.library(node), model.place(node)].filter(Boolean).join('  ');
		const more = this.hooks.values(other).incl[node];

		if (model.diff)
			return [[model.full(node), 'name'], ...(place ? [[place]] : []), [this.change(node)]];
		return [[model.full(node), 'name'], ...(place ? [[place]] : []),
			[`${this.amount(node)}${unit === 'blocks' ? ' blocks' : ''}, ${percentText(values.incl[node], values.incl[0])} of all; ` +
				`own ${amountText(values.self[node], unit)}; ${amountText(more, other)}${other === 'blocks' ? ' blocks' : ''}`]];
	}

	tell(node) {
		this.hooks.said(this.words(node).map(([text]) => text).join(' \u2014 '));
	}

	neighbour(node, step) {
		const list = node ? this.children(this.model.tree.parent[node]) : [];

		return list[list.indexOf(node) + step] ?? node;
	}

	onKey(e) {
		const { parent } = this.model.tree, inwards = this.children(this.focus)[0] ?? this.focus;
		const outwards = Math.max(0, parent[this.focus]);
		const keys = {
			ArrowDown: () => this.setFocus(this.upwards ? outwards : inwards),
			ArrowUp: () => this.setFocus(this.upwards ? inwards : outwards),
			ArrowLeft: () => this.setFocus(this.neighbour(this.focus, -1)),
			ArrowRight: () => this.setFocus(this.neighbour(this.focus, 1)),
			Enter: () => this.zoom(this.focus),
			' ': () => this.zoom(this.focus),
			Backspace: () => this.zoom(Math.max(0, parent[this.zoomed])),
			Escape: () => this.zoom(Math.max(0, parent[this.zoomed])),
			Home: () => this.zoom(0),
		};

		if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		keys[e.key]();
	}

	// A frame that is too narrow to see: its parent becomes the whole.
	setFocus(node) {
		const [x0, x1] = this.range, [a, b] = this.rangeOf(node);
		const seen = Math.min(b, x1) - Math.max(a, x0);

		this.focus = node;
		this.tell(node);
		if (seen * this.wide / (x1 - x0) < 3) {
			this.zoom(Math.max(0, this.model.tree.parent[node]));
			this.focus = node;
		}
		this.reveal(node);
		this.paint();
	}
}
