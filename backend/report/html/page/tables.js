// tables.js - sortable tables: owners, call sites, threads, marks, resident memory, processes.

const SHOWN = 40;

class Table {
	// columns: { title, get, text, kind } - get: what is sorted; text: what is written; empty: the rows
	// that held nothing in the interval, which are one line
	constructor({ title, note, columns, rows, sort, find, about, sum, empty }) {
		Object.assign(this, { columns, rows, find, about, sum, empty, by: sort, down: true, shown: SHOWN, words: '', all: false });
		this.box = document.createElement('section');
		this.table = document.createElement('table');
		this.caption = document.createElement('caption');
		this.caption.textContent = title + ' ';
		if (note) {
			const small = document.createElement('small');

			small.textContent = note;
			this.caption.append(small);
		}
		this.more = document.createElement('p');
		this.more.className = 'more-rows';
		const wide = document.createElement('div');
		wide.className = 'wide';
		wide.append(this.table);
		this.box.append(wide, this.more);
		this.table.addEventListener('click', (e) => this.onClick(e));
		this.more.addEventListener('click', (e) => {
			if (e.target.tagName === 'BUTTON') {
				this.shown = Infinity;
				this.all = e.target.dataset.rows === 'empty';
				this.draw();
			}
		});
		this.draw();
	}

	search(words) {
		this.words = words.toLowerCase();
		this.draw();
	}

	get shownColumns() {
		return this.columns.filter((c) => !c.hidden || !c.hidden());
	}

	matches(row) {
		return this.shownColumns.some((c) => c.kind === 'text' && String(this.textOf(c, row)).toLowerCase().includes(this.words));
	}

	textOf(column, row) {
		const text = column.text ? column.text(column.get(row), row) : column.get(row);

		return text === null || text === undefined ? '' : text;
	}

	ordered() {
		const { get } = this.columns[this.by], way = this.down ? -1 : 1;

		return [...this.rows].sort((a, b) => {
			const x = get(a), y = get(b);

			return way * (typeof x === 'number' ? x - y : String(x ?? '').localeCompare(String(y ?? '')));
		});
	}

	draw() {
		const head = document.createElement('thead'), body = document.createElement('tbody'), top = document.createElement('tr');
		const all = this.ordered(), found = this.words && this.find ? all.filter((r) => this.matches(r)) : all;
		const searched = found.length ? found : all; // words that are found elsewhere empty no table
		const wanted = this.empty && !this.all ? searched.filter((r) => !this.empty(r)) : searched;
		const focused = document.activeElement && this.table.contains(document.activeElement) ? document.activeElement.dataset.by : null;

		this.shownColumns.forEach((c) => {
			const i = this.columns.indexOf(c), th = document.createElement('th'), button = document.createElement('button');

			th.scope = 'col';
			th.className = `${c.kind === 'text' ? 'text' : ''} ${c.second ? 'second' : ''}`;
			if (i === this.by)
				th.setAttribute('aria-sort', this.down ? 'descending' : 'ascending');
			button.type = 'button';
			button.textContent = c.title;
			button.dataset.by = i;
			th.append(button);
			top.append(th);
		});
		head.append(top);
		body.append(...wanted.slice(0, this.shown).map((row) => this.line(row)));
		this.table.replaceChildren(this.caption, head, body);
		this.tellMore(wanted.length, found.length, searched.length - wanted.length);
		if (focused !== null)
			this.table.querySelector(`button[data-by="${focused}"]`).focus();
	}

	line(row) {
		const tr = document.createElement('tr');

		this.shownColumns.forEach((c, i) => {
			const td = cell('', `${c.kind === 'text' ? 'text' : ''} ${c.second ? 'second' : ''} ${c.tone ? c.tone(c.get(row), row) : ''}`);
			let text = String(this.textOf(c, row));

			if (c.kind === 'amount' && this.about && this.about(row) && text && text !== '0')
				text = '~' + text;
			if (i === 0 && this.find && text) {
				const button = document.createElement('button');

				button.type = 'button';
				button.className = 'find';
				button.title = 'Search for it';
				button.dataset.find = this.find(row);
				button.textContent = text;
				td.append(button);
			} else {
				td.textContent = text;
			}
			tr.append(td);
		});
		return tr;
	}

	tellMore(count, found, empty) {
		const left = count - Math.min(count, this.shown), parts = [];
		const add = (text, rows) => {
			const button = document.createElement('button');

			button.type = 'button';
			button.dataset.rows = rows;
			button.textContent = text;
			parts.push(button, ' ');
		};

		if (this.words && this.find)
			parts.push(`${countText(found)} of ${countText(this.rows.length)} rows match the search${found ? '' : ': all are shown'}. `);
		if (left)
			add(`Show ${countText(left)} more`, 'rest');
		if (empty)
			add(`${countText(empty)} more without memory`, 'empty');
		this.more.replaceChildren(...parts);
	}

	onClick(e) {
		const { by, find } = e.target.dataset;

		if (find !== undefined)
			this.onFind(find);
		if (by === undefined)
			return;
		this.down = Number(by) === this.by ? !this.down : this.columns[by].kind !== 'text';
		this.by = Number(by);
		this.draw();
	}
}

const amounts = (first, names = ['Live', 'Blocks', 'Allocated', 'Allocations']) => names.map((title, i) => ({
	title, kind: 'amount', second: i === 1 || i === 3, get: (r) => r[first + i],
	text: (n) => n < 0 ? '' : i % 2 ? countText(n) : bytesText(n) }));

function ownersTable(data, model) {
	return new Table({ title: 'Libraries', note: 'by owner: allocation wrappers are skipped', rows: data.owners, sort: 1,
		find: (r) => r[0], about: (r) => r[5],
		empty: (r) => !model.wholeChosen && !r[2] && !model.ownersNet[data.owners.indexOf(r)],
		columns: [{ title: 'Library', kind: 'text', get: (r) => r[0] }, ...amounts(1),
			{ title: 'Net', hidden: () => model.wholeChosen, get: (r) => model.ownersNet[data.owners.indexOf(r)],
				text: (n) => signed(n, bytesText), tone: (n) => n > 0 ? 'bad' : n < 0 ? 'good' : '' }] });
}

function sitesTable(data, model) {
	const known = data.sites.some((r) => r[12] >= 0), owner = (r) => r[4] < 0 ? '' : data.owners[r[4]][0];

	return new Table({ title: 'Call sites', note: 'the innermost function that is not an allocation wrapper', rows: data.sites, sort: 4,
		find: (r) => r[0] || '', about: (r) => r[15],
		empty: (r) => !model.wholeChosen && !r[6] && !model.sitesNet.get(r[16]),
		columns: [
			{ title: 'Call site', kind: 'text', get: (r) => r[0] || '?' },
			{ title: 'Called by', kind: 'text', second: true, get: (r) => r[1] },
			{ title: 'Place', kind: 'text', second: true, get: (r) => r[2], text: (f, r) => f ? f.replace(/^.*\//, '') + (r[3] ? ':' + r[3] : '') : '' },
			{ title: 'Library', kind: 'text', second: true, get: owner },
			...amounts(5),
			{ title: 'Net', hidden: () => model.wholeChosen, get: (r) => model.sitesNet.get(r[16]) || 0,
				text: (n) => signed(n, bytesText), tone: (n) => n > 0 ? 'bad' : n < 0 ? 'good' : '' },
			{ title: 'Paths', second: true, get: (r) => r[9], text: countText },
			{ title: 'Growth', get: (r) => r[14] ? 'expected' : r[10], tone: (s) => s === 'steady' ? 'bad' : s === 'shrinking' ? 'good' : '' },
			{ title: 'per min', second: true, get: (r) => r[11], text: (n) => n ? signed(n, bytesText) : '' },
			...(known ? [{ title: 'Median age', second: true, get: (r) => r[12], text: ageText }, { title: 'Oldest', second: true, get: (r) => r[13], text: ageText }] : []),
		] });
}

// The columns of a change, from column `first`: A's bytes and blocks, B's, the word, and whether it is
// noise. The first one, which is not shown, is the table's order: noise comes last.
function changes(data, first) {
	const unit = data.diff.value === 'blocks' ? 'blocks' : 'bytes', other = unit === 'bytes' ? 'blocks' : 'bytes';
	const of = (side, u) => (r) => r[first + 2 * side + (u === 'blocks' ? 1 : 0)];
	const net = (u) => (r) => of(1, u)(r) - of(0, u)(r), text = (u) => (n) => amountText(n, u);
	const change = (u, title, second) => ({ title, second, kind: 'amount', get: net(u), text: (n) => signed(n, text(u)),
		tone: (n, r) => r[first + 5] ? '' : n > 0 ? 'bad' : n < 0 ? 'good' : '' });

	return [
		{ title: 'Change', hidden: () => true, get: (r) => Math.abs(net(unit)(r)) - (r[first + 5] ? 1e18 : 0) },
		change(unit, 'Net', false),
		{ title: 'A', kind: 'amount', get: of(0, unit), text: text(unit) },
		{ title: 'B', kind: 'amount', get: of(1, unit), text: text(unit) },
		change(other, other === 'blocks' ? 'Net blocks' : 'Net bytes', true),
		{ title: 'Judged', get: (r) => r[first + 4] + (r[first + 5] ? ', noise' : '') },
	];
}

const withoutMemory = (first) => (r) => !r[first] && !r[first + 1] && !r[first + 2] && !r[first + 3];
const largestFirst = (data) => data.diff.noise_rule ? 'largest change first; noise last' : 'largest change first';

function changedOwnersTable(data) {
	return new Table({ title: 'Libraries', note: `by owner; ${largestFirst(data)}`, rows: data.owners, sort: 1,
		find: (r) => r[0] || '', about: () => data.diff.about, empty: withoutMemory(1),
		columns: [{ title: 'Library', kind: 'text', get: (r) => r[0] || '?' }, ...changes(data, 1)] });
}

function changedSitesTable(data) {
	return new Table({ title: 'Call sites', note: largestFirst(data), rows: data.sites, sort: 4,
		find: (r) => r[0] || '', about: () => data.diff.about, empty: withoutMemory(1),
		columns: [
			{ title: 'Call site', kind: 'text', get: (r) => r[0] || '?' },
			{ title: 'Called by', kind: 'text', second: true, get: (r) => r[7] },
			{ title: 'Place', kind: 'text', second: true, get: (r) => r[8], text: (f, r) => f ? f.replace(/^.*\//, '') + (r[9] ? ':' + r[9] : '') : '' },
			{ title: 'Library', kind: 'text', second: true, get: (r) => r[10] },
			...changes(data, 1),
			{ title: 'Paths', second: true, get: (r) => r[11], text: countText },
		] });
}

function threadsTable(data) {
	return new Table({ title: 'Threads', rows: data.threads, sort: data.threads.some((r) => r[2] >= 0) ? 2 : 4, about: (r) => r[7],
		note: data.threads.some((r) => r[2] >= 0) ? '' : 'what each holds is not known',
		columns: [{ title: 'Thread', kind: 'text', get: (r) => r[0] + (r[6] ? ' (ended)' : '') }, { title: 'Id', second: true, get: (r) => r[1] },
			...amounts(2)] });
}

function marksTable(data) {
	const table = new Table({ title: 'Marks', rows: data.marks, sort: 0, about: (r) => r[8],
		columns: [{ title: 'Mark', get: (r) => r[0], text: (n) => 'm' + n }, { title: 'Name', kind: 'text', get: (r) => r[1] },
			{ title: 'Time', get: (r) => r[3], text: timeText }, ...amounts(4, ['Live', 'Blocks']),
			{ title: 'Resident', second: true, get: (r) => r[6], text: (n) => n ? bytesText(n) : '' },
			{ title: 'Set by', kind: 'text', second: true, get: (r) => r[2] },
			{ title: 'Stacks', second: true, get: (r) => r[7], text: (n) => n ? 'kept' : 'totals only' }] });

	table.down = false;
	table.draw();
	return table;
}

function residentTable(data) {
	const all = data.resident.reduce((sum, r) => sum + (r[1] === null ? r[2] : 0), 0);

	return new Table({ title: 'Resident memory', note: `${bytesText(all)} at ${timeText(data.resident_s || 0)}; named files are shares of their part`,
		rows: data.resident.filter((r) => r[2]), sort: 2,
		columns: [{ title: 'Part', kind: 'text', get: (r) => r[0] }, { title: 'File', kind: 'text', get: (r) => r[1] },
			{ title: 'Resident', get: (r) => r[2], text: bytesText }, { title: 'Mappings', second: true, get: (r) => r[3], text: countText }] });
}

function processesTable(data) {
	const bytes = (n) => n < 0 ? '' : bytesText(n);

	return new Table({ title: 'Processes', note: 'this page covers the one that is marked', rows: data.processes, sort: 4,
		columns: [{ title: 'Process', kind: 'text', get: (r) => (r[6] ? '\u25b6 ' : '') + r[0] }, { title: 'Pid', get: (r) => r[1] },
			{ title: 'Live', get: (r) => r[2], text: bytes }, { title: 'Allocated', get: (r) => r[3], text: bytes },
			{ title: 'Peak', get: (r) => r[4], text: bytes }, { title: '', kind: 'text', second: true, get: (r) => r[5] }] });
}
