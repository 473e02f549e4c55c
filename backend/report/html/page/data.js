// data.js - reads the page's data and derives everything else from it: amounts of every node of the
// call tree, at every instant whose stacks are known. The data of a diff has two of them, A and B.

const $ = (id) => document.getElementById(id);

async function unpack(element) {
	const packed = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
	const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));

	element.textContent = '';
	return JSON.parse(await new Response(text).text());
}

// --- numbers as memtop writes them

function bytesText(n) {
	let unit = 0;

	if (n < 1024)
		return String(Math.round(n));
	for (; n >= 1024 && unit < 6; unit++)
		n /= 1024;
	if (n >= 999.95 && unit < 6) {
		n /= 1024;
		unit++;
	}
	return n.toFixed(1) + 'BKMGTPE'[unit];
}

const countText = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
const amountText = (n, unit) => unit === 'bytes' ? bytesText(n) : countText(n);
const signed = (n, text) => (n < 0 ? '-' : n > 0 ? '+' : '') + text(Math.abs(n));
const percentText = (part, all) => all > 0 ? (100 * part / all).toFixed(1) + ' %' : '-';

function timeText(s) {
	return s < 100 ? s.toFixed(s < 10 ? 2 : 1) + ' s'
		: s < 7200 ? Math.floor(s / 60) + ' min ' + Math.round(s % 60) + ' s'
			: Math.floor(s / 3600) + ' h ' + Math.round(s % 3600 / 60) + ' min';
}

function ageText(s) {
	return s < 0 ? '' : s < 60 ? s + ' s' : s < 7200 ? Math.round(s / 60) + ' min' : Math.round(s / 3600) + ' h';
}

// --- the call tree: columns by node, parents before children, 0 is the root

function readNodes(data) {
	const { up, frame, line } = data.nodes, n = up.length + 1;
	const t = { count: n, parent: new Int32Array(n), frame: new Int32Array(n), line: new Int32Array(n),
		depth: new Int32Array(n), first: new Int32Array(n), next: new Int32Array(n) };

	t.parent[0] = t.frame[0] = -1;
	for (let i = 1, parent = 0; i < n; i++) {
		parent = i - 1;
		for (let k = up[i - 1]; k > 0; k--)
			parent = t.parent[parent];
		t.parent[i] = parent;
		t.depth[i] = t.depth[parent] + 1;
		t.frame[i] = frame[i - 1];
		t.line[i] = line[i - 1];
	}
	for (let i = n - 1; i > 0; i--) {
		t.next[i] = t.first[t.parent[i]];
		t.first[t.parent[i]] = i;
	}
	return t;
}

// Of a diff: what B holds, and what A held.
function readSides({ node, a_bytes, a_blocks, b_bytes, b_blocks }) {
	const side = (bytes, blocks) => ({ bytes: Float64Array.from(bytes), blocks: Float64Array.from(blocks) });

	return { count: node.length, node: Int32Array.from(node), sampled: [], live: side(b_bytes, b_blocks), before: side(a_bytes, a_blocks) };
}

function readEntries(data) {
	const e = data.entries, node = Int32Array.from(e.node);

	if (data.diff)
		return readSides(e);
	for (let i = 1; i < node.length; i++)
		node[i] += node[i - 1];
	return { count: node.length, node, owner: Int32Array.from(e.owner), site: e.site, sampled: e.sampled,
		live: { bytes: Float64Array.from(e.live_bytes), blocks: Float64Array.from(e.live_blocks) },
		allocated: { bytes: Float64Array.from(e.allocated_bytes), blocks: Float64Array.from(e.allocated_blocks) } };
}

// --- instants: the start, marks and the agent's samples with their stacks, now

function readInstants(data) {
	if (data.diff)
		return [{ key: 'a', name: 'A', exact: true, time: 0 }, { key: 'now', name: 'B', exact: true, time: 0 }];
	const list = [{ key: 'start', name: 'start', exact: true, time: 0, bytes: 0 }];

	for (const [id, name, , time, bytes, , , known] of data.marks)
		if (known)
			list.push({ key: 'm' + id, id, chain: data.mark_cells, mark: true, exact: true, time, bytes,
				name: name === 'm' + id ? name : `m${id} ${name}` });
	for (const [id, time, bytes] of data.samples)
		list.push({ key: 's' + id, id, chain: data.sample_cells, time, bytes, name: 'sample' });
	for (const cells of data.peak_cells)
		list.push({ key: 'peak', id: cells.id, chain: data.peak_cells, time: data.totals.peak_s, name: 'peak',
			bytes: cells.bytes.reduce((sum, n) => sum + n, 0) });
	list.sort((a, b) => a.time - b.time);
	list.push({ key: 'now', name: data.totals.past ? 'the report' : 'now', exact: true, time: data.totals.time_s, bytes: data.totals.live_bytes });
	return list;
}

class Model {
	constructor(data) {
		this.data = data;
		this.tree = readNodes(data);
		this.entries = readEntries(data);
		this.instants = readInstants(data);
		this.from = this.instants[0];
		this.to = this.instants[this.instants.length - 1];
		this.held = new Map();
		this.cache = new Map();
		if (data.diff)
			this.held.set('a', this.entries.before);
		this.estimates = data.diff ? new Uint8Array(this.tree.count).fill(data.diff.about) : this.flagged();
	}

	// What each entry held at an instant. Cells are differences to the instant before.
	heldAt(instant) {
		if (instant.key === 'now')
			return this.entries.live;
		if (!this.held.has(instant.key)) {
			const held = { bytes: new Float64Array(this.entries.count), blocks: new Float64Array(this.entries.count) };

			for (const cells of instant.chain || []) {
				if (cells.id > instant.id)
					break;
				for (let i = 0, entry = 0; i < cells.entry.length; i++) {
					entry += cells.entry[i];
					held.bytes[entry] += cells.bytes[i];
					held.blocks[entry] += cells.blocks[i];
				}
			}
			this.held.set(instant.key, held);
		}
		return this.held.get(instant.key);
	}

	ownersAt(instant) {
		const sums = new Float64Array(this.data.owners.length), held = this.heldAt(instant).bytes;

		for (let i = 0; i < held.length; i++)
			sums[this.entries.owner[i]] += held[i];
		return sums;
	}

	// Is a sampled amount in the node or below?
	flagged() {
		const flags = new Uint8Array(this.tree.count);

		this.entries.sampled.forEach((s, i) => s && (flags[this.entries.node[i]] = 1));
		for (let i = this.tree.count - 1; i > 0; i--)
			flags[this.tree.parent[i]] |= flags[i];
		return flags;
	}

	about(node, text) {
		return this.estimates[node] && text !== '0' ? '~' + text : text;
	}

	// Of each owner, between the chosen instants.
	get ownersNet() {
		if (!this.cache.has('netowners')) {
			const from = this.ownersAt(this.from);

			this.cache.set('netowners', this.ownersAt(this.to).map((n, i) => n - from[i]));
		}
		return this.cache.get('netowners');
	}

	// Likewise, of each call site: Map from its id.
	get sitesNet() {
		if (!this.cache.has('netsites')) {
			const from = this.heldAt(this.from).bytes, to = this.heldAt(this.to).bytes, sums = new Map();

			this.entries.site.forEach((site, i) => sums.set(site, (sums.get(site) || 0) + to[i] - from[i]));
			this.cache.set('netsites', sums);
		}
		return this.cache.get('netsites');
	}

	choose(from, to) {
		this.from = from.time <= to.time ? from : to;
		this.to = from.time <= to.time ? to : from;
		for (const key of [...this.cache.keys()])
			if (/^(net|born|gone|grew|shrank)/.test(key))
				this.cache.delete(key);
	}

	get wholeChosen() {
		return this.from.key === 'start' && this.to.key === 'now';
	}

	// { self, incl } by node of what: live, peak, allocated, temporary, net, born, gone, grew, shrank,
	// before (at the first of the two chosen instants), change (the size of the net).
	values(what, unit) {
		const key = what + unit;

		if (!this.cache.has(key))
			this.cache.set(key, this.summed(this.selves(what, unit)));
		return this.cache.get(key);
	}

	byNode(amount) {
		const self = new Float64Array(this.tree.count), { node, count } = this.entries;

		for (let i = 0; i < count; i++)
			self[node[i]] += amount(i);
		return self;
	}

	selves(what, unit) {
		const live = this.entries.live[unit], allocated = this.entries.allocated?.[unit];

		if (what === 'live')
			return this.byNode((i) => live[i]);
		if (what === 'peak') {
			const held = this.heldAt(this.instants.find((i) => i.key === 'peak'))[unit];

			return this.byNode((i) => held[i]);
		}
		if (what === 'allocated')
			return this.byNode((i) => allocated[i]);
		if (what === 'temporary')
			return this.byNode((i) => allocated[i] - live[i]);
		if (what === 'before')
			return this.byNode((i) => this.heldAt(this.from)[unit][i]);
		const from = this.heldAt(this.from)[unit], to = this.heldAt(this.to)[unit];

		if (what === 'born')
			return this.byNode((i) => Math.max(0, to[i] - from[i]));
		if (what === 'gone')
			return this.byNode((i) => Math.max(0, from[i] - to[i]));
		const net = this.byNode((i) => to[i] - from[i]);

		if (what === 'change')
			return net.map(Math.abs);
		return what === 'net' ? net : net.map((n) => Math.max(0, what === 'grew' ? n : -n));
	}

	summed(self) {
		const incl = Float64Array.from(self), { parent, count } = this.tree;

		for (let i = count - 1; i > 0; i--)
			incl[parent[i]] += incl[i];
		return { self, incl };
	}

	// --- the judgement of a diff

	get diff() {
		return this.data.diff;
	}

	// -1 .. 1: how much of what the node held, or holds, it lost or got.
	part(node, unit) {
		const net = this.values('net', unit).incl[node];

		return net / (Math.max(this.values('before', unit).incl[node], this.values('live', unit).incl[node]) || 1);
	}

	noise(node) {
		return this.diff.noise[node] === 1;
	}

	judged(node) {
		return KINDS[this.diff.kind[node]] + (this.noise(node) ? ', noise' : '');
	}

	// --- words of a node

	name(node) {
		return node ? this.data.frames.name[this.tree.frame[node]] || '?' : 'all';
	}

	full(node) {
		return node ? this.data.frames.full[this.tree.frame[node]] || this.name(node) : 'all call paths';
	}

	library(node) {
		const lib = node ? this.data.frames.library[this.tree.frame[node]] : -1;

		return lib < 0 ? '' : this.data.libraries_of_frames[lib];
	}

	file(node) {
		return node && this.data.frames.file[this.tree.frame[node]] || '';
	}

	// What frames differ by most: libraries, unless one allocated nearly all.
	get told() {
		const { owners, frames } = this.data, all = owners.reduce((sum, o) => sum + o[3], 0);

		return owners.some((o) => o[3] > all * .95) ? frames.file.some((f) => f) ? 'file' : 'function' : 'library';
	}

	place(node) {
		const file = this.file(node);

		return file ? file.replace(/^.*\//, '') + (this.tree.line[node] ? ':' + this.tree.line[node] : '') : '';
	}

	// --- search: which frames match, and what the topmost matching nodes hold together

	search(words) {
		const f = this.data.frames, wanted = words.toLowerCase();

		this.hits = !wanted ? null : Uint8Array.from(f.name, (name, i) => {
			const lib = f.library[i] < 0 ? '' : this.data.libraries_of_frames[f.library[i]];

			return [name, f.full[i], f.file[i], lib].some((s) => s && s.toLowerCase().includes(wanted));
		});
	}

	hit(node) {
		return this.hits && node > 0 && this.hits[this.tree.frame[node]] === 1;
	}

	// The topmost hits, heaviest first, and their sum.
	topHits(incl) {
		const { parent, count } = this.tree, under = new Uint8Array(count), nodes = [];
		let sum = 0;

		for (let i = 1; this.hits && i < count; i++) {
			const hit = this.hit(i);

			if (hit && !under[parent[i]] && incl[i] > 0) {
				nodes.push(i);
				sum += incl[i];
			}
			under[i] = hit || under[parent[i]];
		}
		return { nodes: nodes.sort((a, b) => incl[b] - incl[a]), sum };
	}
}

const KINDS = ['same', 'grown', 'shrunk', 'new', 'gone'];

// --- colours: one for each of the largest libraries, the same in all graphs; in the call paths where
// one library holds nearly all, one for each file or function

const HUES = [212, 28, 145, 338, 268, 184, 50, 4, 96, 300];

class Colours {
	constructor(model) {
		this.hue = new Map();
		model.data.owners.slice(0, HUES.length).forEach(([name], i) => this.hue.set(name, HUES[i]));
		this.refresh();
	}

	refresh() {
		const style = getComputedStyle(document.documentElement);
		const value = (name) => style.getPropertyValue('--' + name).trim();

		this.saturation = parseFloat(value('frame-s'));
		this.light = parseFloat(value('frame-l'));
		this.pale = parseFloat(value('change-pale'));
		this.strong = parseFloat(value('change-l'));
		this.ink = value('frame-ink');
		this.text = value('ink');
		this.paper = value('paper');
		this.hit = value('hit');
		this.hitInk = value('hit-ink');
		this.plain = value('unknown');
		this.accent = value('accent');
	}

	// Red: more, blue: less, the stronger the larger the part that changed. Grey: no change.
	ofChange(part, noise) {
		const size = noise || !part ? 0 : .25 + .75 * Math.min(1, Math.abs(part)), pale = this.pale;

		return `hsl(${part > 0 ? 6 : 214} ${size * 78}% ${pale + (this.strong - pale) * size}%)`;
	}

	// shade: -1 .. 1, tells neighbours of one library apart
	of(library, shade = 0) {
		const hue = this.hue.get(library);

		return this.mixed(hue, shade);
	}

	// A file or a function: the same hue in every page. Empty: unknown.
	ofName(name, shade = 0) {
		let hash = 0;

		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 0x9e3779b1) ^ hash >>> 15;
		return this.mixed(name ? (hash >>> 0) % 36 * 10 : undefined, shade);
	}

	mixed(hue, shade) {
		return hue === undefined ? `hsl(215 8% ${this.light + 5 * shade}%)`
			: `hsl(${hue} ${this.saturation}% ${this.light + 5 * shade}%)`;
	}
}
