// tree.js - the call tree as a table: from the program's entry down, or from the allocation up. A row
// stands for nodes of the trie; its children are made when it is opened. A chain of single callers
// keeps one level of indentation, as deep stacks would leave the page.

const CHILDREN = 200, DEEP = 400;

function cell(text, kind) {
	const e = document.createElement('td');

	e.className = kind || '';
	e.textContent = text;
	return e;
}

class Tree {
	constructor(model, hooks) {
		Object.assign(this, { model, hooks, table: $('tree'), inverted: false });
		this.table.addEventListener('click', (e) => this.onClick(e));
		this.table.addEventListener('dblclick', (e) => this.onClick(e, true));
		this.table.addEventListener('keydown', (e) => this.onKey(e));
	}

	show(values, unit) {
		Object.assign(this, { values, unit });
		this.others = (this.model.diff ? [['A', 'before', unit], ['B', 'live', unit]]
			: [['Live', 'live', 'bytes'], ['Blocks', 'live', 'blocks'], ['Allocated', 'allocated', 'bytes']])
			.filter(([, w, u]) => w !== this.hooks.what() || u !== unit)
			.map(([title, w, u]) => [title, this.model.values(w, u), (n) => amountText(n, u)]);
		this.netUnit = this.model.diff ? unit : 'bytes';
		this.net = this.model.wholeChosen ? null : this.model.values('net', this.netUnit);
		this.restart();
	}

	// From the allocation up, a row's amount is a part of its nodes'.
	judges() {
		return this.model.diff && !this.inverted;
	}

	title() {
		return this.hooks.title() + (this.unit === 'blocks' ? ', blocks' : '');
	}

	restart() {
		this.root = { level: -1, parent: null, nodes: this.inverted ? null : [0], value: this.values.incl[0], open: true };
		this.root.children = this.grow(this.root);
		if (this.root.children.length)
			this.open(this.root.children[0]);
		this.current = this.root.children[0];
		this.draw();
	}

	// --- rows

	// Inverted: pairs (a node on the way up, the leaf that it came from).
	grow(row) {
		return this.inverted ? this.growUp(row) : this.growDown(row);
	}

	row(parent, nodes, leaves, value) {
		const single = parent.children_count === 1 && parent.level >= 0;

		return { parent, nodes, leaves, value, level: parent.level + (single ? 0 : 1), open: false };
	}

	growDown(row) {
		const { first, next } = this.model.tree, { incl } = this.values, list = [];

		for (let c = first[row.nodes[0]]; c; c = next[c])
			if (incl[c] > 0)
				list.push(c);
		list.sort((a, b) => incl[b] - incl[a] || a - b);
		row.children_count = list.length;
		return list.map((c) => this.row(row, [c], null, incl[c]));
	}

	growUp(row) {
		const { parent, frame, count } = this.model.tree, { self } = this.values, groups = new Map();
		const add = (node, leaf) => {
			const g = groups.get(frame[node]) || { nodes: [], leaves: [], value: 0 };

			g.nodes.push(node);
			g.leaves.push(leaf);
			g.value += self[leaf];
			groups.set(frame[node], g);
		};

		if (!row.nodes)
			for (let i = 1; i < count; i++)
				self[i] > 0 && add(i, i);
		else
			row.nodes.forEach((node, i) => parent[node] > 0 && add(parent[node], row.leaves[i]));
		row.children_count = groups.size;
		return [...groups.values()].sort((a, b) => b.value - a.value).map((g) => this.row(row, g.nodes, g.leaves, g.value));
	}

	// Follows a chain to its first fork.
	open(row) {
		for (let steps = 0; row && steps < DEEP; steps++) {
			row.children ||= this.grow(row);
			row.open = row.children.length > 0;
			if (row.children.length !== 1)
				return;
			row = row.children[0];
		}
	}

	visible() {
		const list = [], walk = (row) => {
			for (const c of row.children.slice(0, row.all ? Infinity : CHILDREN)) {
				list.push(c);
				if (c.open)
					walk(c);
			}
			if (!row.all && row.children.length > CHILDREN)
				list.push({ parent: row, rest: row.children.length - CHILDREN, level: row.children[0].level });
		};

		walk(this.root);
		return list;
	}

	amount(row, { self, incl }) {
		return row.leaves ? row.leaves.reduce((sum, leaf) => sum + self[leaf], 0) : incl[row.nodes[0]];
	}

	own(row) {
		return row.leaves ? row.nodes.reduce((sum, n, i) => sum + (n === row.leaves[i] ? this.values.self[n] : 0), 0)
			: this.values.self[row.nodes[0]];
	}

	// --- drawing

	draw() {
		const had = this.table.contains(document.activeElement);
		const head = document.createElement('thead'), body = document.createElement('tbody');
		const titles = [['Function', 'text'], [this.title()], ['%'], ['Own', 'second'], ...this.others.map(([title]) => [title, 'second']), ...(this.net ? [['Net', 'second']] : []), ...(this.judges() ? [['Judged', 'second']] : [])];
		const top = document.createElement('tr');

		for (const [text, kind] of titles) {
			const th = document.createElement('th');

			th.scope = 'col';
			th.className = kind || '';
			th.textContent = text;
			top.append(th);
		}
		head.append(top);
		this.rows = this.visible();
		body.append(...this.rows.map((row, i) => row.rest ? this.restLine(row, i, titles.length) : this.line(row, i)));
		this.table.replaceChildren(head, body);
		if (had)
			this.select(this.current);
	}

	line(row, i) {
		const tr = document.createElement('tr'), { model } = this, node = row.nodes[0], whole = this.values.incl[0];
		const leaf = row.children && !row.children.length;
		const about = (text) => model.about(node, text);
		const name = cell(''), at = document.createElement('span'), bold = document.createElement('b'), small = document.createElement('small');

		at.className = 'at';
		at.textContent = leaf || !this.opens(row) ? '' : row.open ? '\u25be' : '\u25b8';
		bold.textContent = model.name(node);
		small.textContent = ' ' + [model.library(node), model.place(node)].filter(Boolean).join(' ');
		name.style.paddingLeft = 8 + 16 * Math.max(0, row.level) + 'px';
		name.title = model.full(node);
		name.append(at, bold, small);
		tr.append(name, cell(about(amountText(row.value, this.unit))), cell(percentText(row.value, whole)),
			cell(amountText(this.own(row), this.unit), 'second'),
			...this.others.map(([, values, text]) => cell(about(text(this.amount(row, values))), 'second')));
		if (this.net) {
			const net = this.amount(row, this.net);

			tr.append(cell(signed(net, (n) => amountText(n, this.netUnit)), 'second ' + (this.judges() && model.noise(node) ? '' : net > 0 ? 'bad' : net < 0 ? 'good' : '')));
		}
		if (this.judges())
			tr.append(cell(model.judged(node), 'second'));
		tr.dataset.row = i;
		tr.tabIndex = row === this.current ? 0 : -1;
		tr.className = model.hit(node) ? 'hit' : '';
		tr.setAttribute('aria-level', row.level + 1);
		if (this.opens(row))
			tr.setAttribute('aria-expanded', row.open);
		return tr;
	}

	restLine(row, i, columns) {
		const tr = document.createElement('tr'), td = cell(`... ${countText(row.rest)} more: Enter shows them`);

		td.colSpan = columns;
		td.style.paddingLeft = 22 + 16 * row.level + 'px';
		tr.append(td);
		tr.dataset.row = i;
		tr.tabIndex = -1;
		return tr;
	}

	opens(row) {
		const { first, parent } = this.model.tree;

		return row.leaves ? row.nodes.some((n) => parent[n] > 0) : first[row.nodes[0]] > 0 && this.own(row) < row.value;
	}

	// --- pointer and keys

	toggle(row) {
		if (row.rest)
			row.parent.all = true;
		else if (row.open)
			row.open = false;
		else
			this.open(row);
		this.draw();
	}

	select(row) {
		const i = Math.max(0, this.rows.indexOf(row)), line = this.table.tBodies[0].rows[i];

		if (!line)
			return;
		const before = this.table.querySelector('tr[tabindex="0"]');

		if (before)
			before.tabIndex = -1;
		this.current = this.rows[i];
		line.tabIndex = 0;
		line.focus();
	}

	onClick(e, twice) {
		const line = e.target.closest('tr[data-row]');

		if (!line)
			return;
		const row = this.rows[line.dataset.row];

		if (twice && !row.rest)
			this.hooks.find(row.nodes[0]);
		else if (!twice && (row.rest || e.target.className === 'at'))
			this.toggle(row);
		this.select(this.rows.includes(row) ? row : this.rows[0]);
	}

	onKey(e) {
		const i = this.rows.indexOf(this.current), row = this.current;
		const keys = {
			ArrowDown: () => this.select(this.rows[Math.min(i + 1, this.rows.length - 1)]),
			ArrowUp: () => this.select(this.rows[Math.max(0, i - 1)]),
			PageDown: () => this.select(this.rows[Math.min(i + 20, this.rows.length - 1)]),
			PageUp: () => this.select(this.rows[Math.max(0, i - 20)]),
			Home: () => this.select(this.rows[0]),
			End: () => this.select(this.rows[this.rows.length - 1]),
			ArrowRight: () => row.rest || !this.opens(row) ? 0 : row.open ? this.select(this.rows[i + 1]) : this.toggle(row),
			ArrowLeft: () => row.open ? this.toggle(row) : row.parent !== this.root && this.select(row.parent),
			' ': () => this.toggle(row),
			Enter: () => row.rest ? this.toggle(row) : this.hooks.find(row.nodes[0]),
		};

		if (!keys[e.key] || !row || e.ctrlKey || e.metaKey || e.altKey)
			return;
		e.preventDefault();
		keys[e.key]();
	}
}
