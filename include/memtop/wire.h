/* SPDX-License-Identifier: MIT
 *
 * wire.h - the stream between the agent in a target and its viewers.
 *
 * One stream, the same on abstract, path and TCP sockets, and (framed in blocks) in a session file.
 * This file is the whole contract: it suffices to write a client.
 *
 * 1. GREETING. On accept the agent sends MTW_GREETING_LEN bytes:
 *        8 bytes  magic "MEMTOP\r\n"
 *        u16 LE   protocol version of the agent on this socket
 *        u16 LE   lowest protocol version that it serves there
 *    The client answers with the same 12 bytes (its version, the lowest that it can read). The
 *    session uses the lower of both versions. Abstract and path sockets use version 1: the agent
 *    checks the peer's credentials and sends a refused peer an ERROR after the greeting. TCP uses
 *    version 2, which is version 1 after the proof of section 2: a lowest version of 2 demands it.
 *    Then the client sends a CLIENT frame, and the agent HELLO. Before its valid CLIENT frame, a
 *    connection is not a viewer: it waits in a bounded queue, from which a newcomer pushes out the
 *    oldest. An agent that refuses sends ERROR and closes.
 *
 * 2. PROOF (version 2). Both sides prove that they know the token, and the token itself is never
 *    sent.
 *        agent    greeting, CHALLENGE (its nonce)
 *        client   greeting, RESPONSE (its nonce, its proof)
 *        agent    PROOF (its proof)                           or ERROR, and it closes
 *        client   CLIENT                                      or it closes
 *    A proof is HMAC-SHA256, with the token as the key, over
 *        16 bytes label (MTW_LABEL_...) | agent's greeting | its nonce | client's greeting | its
 *        nonce
 *    Fresh nonces make a recorded proof useless, different labels make one side's proof useless for
 *    the other, and the greetings fix the versions. The client proves first, so that a stranger
 *    gets nothing to test tokens on. A client with a token for a TCP address demands the proof:
 *    before a valid PROOF it trusts nothing, and sends only the greeting and RESPONSE. proof.h
 *    implements this. Out of scope: a relay that reads and changes the stream after the proof.
 *
 * 3. FRAMES. Everything after the greeting, in both directions, is
 *        varint type | varint length of payload | payload
 *    varint = LEB128, little-endian groups of 7 bits, at most 10 bytes, shortest form not required.
 *    A string is a varint length and that many bytes, no terminator, any bytes but NUL. A frame of
 *    unknown type is skipped by its length; bytes left over at the end of a known payload are
 *    ignored (later versions append). A length past the bounds below, a varint past the payload, or
 *    an unknown id is an error: the reader closes with the reason.
 *
 * 4. STATE. Counters are cumulative; a tick sends the changes since this client's last data, so a
 *    slow link gets the same final numbers, later. Frames between two TICK frames belong together:
 *    a reader applies them as one step (if TOTALS comes twice, the last counts). Nothing follows a
 *    TICK with FINAL. Ids are never reused within a session; a NODE precedes every frame that names
 *    it, and so do MODULE, SLOT and MARK.
 *
 *        stack  = path in a trie of nodes; node 0 is the root (outermost, never sent)
 *        slot   = (node, epoch): the counters of blocks that this stack allocated in this epoch;
 *                 with sampling one more for each rate: WEIGHED names those, their counters are
 *                 estimates
 *        epoch  = starts at 0, advanced by every mark, and in the child of a fork
 *        live(slot) = allocated - freed, never negative, in blocks and requested bytes
 *        BORN since mark m of a stack = sum of live(slot) over slots with epoch > m.epoch
 *        GONE = sum of (live at m - live now) over slots with epoch <= m.epoch
 *        sum over slots = TOTALS, when TICK says COMPLETE
 *
 * 5. FLOW. A client acknowledges consumed bytes with ACK (total bytes since the greeting, in
 *    version 2 since PROOF) at least every MTW_ACK_EVERY bytes; the agent keeps at most a window of
 *    unacknowledged bytes under way (MTW_WINDOW_MIN, growing on fast links), so that fresh totals
 *    are never queued behind a long first state. An agent has places for a fixed number of viewers,
 *    and more for commands (MTW_CLIENT_COMMAND). When a newcomer finds no place, the client that
 *    has acknowledged nothing for longest leaves, after at least ten seconds in which it should
 *    have: MTW_CLIENT_PROMPT bytes within a second, others MTW_ACK_EVERY. Without such a client the
 *    newcomer gets ERROR (MTW_E_BUSY). First state order: HELLO, TOTALS, STATE, OPTION,
 *    FILTER, LOSS, THREAD, PROCESS, STACKS, STOPS, MARK, SAMPLES, HISTORY; then slots by live
 *    bytes, heaviest first, each after its MODULE and NODES; then MARK_LIVE, SAMPLE_LIVE and PEAK.
 *    TOTALS recur meanwhile; the first TICK with MTW_TICK_COMPLETE ends it.
 *
 * Times are ns since the agent started (HELLO.start_unix_ns tells when that was), sizes bytes,
 * unless a name says otherwise. This header needs neither side and no library.
 */
#ifndef MEMTOP_WIRE_H
#define MEMTOP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MTW_MAGIC "MEMTOP\r\n"
#define MTW_MAGIC_LEN 8
#define MTW_GREETING_LEN 12
#define MTW_VERSION 2
#define MTW_VERSION_MIN 1
#define MTW_VERSION_UNIX 1  /* without proof: for Unix sockets */
#define MTW_VERSION_PROOF 2 /* with proof: for TCP, from this version on */

/* Bounds: a reader may rely on them and must enforce them. */
#define MTW_FRAME_MAX (1u << 20)    /* payload bytes of one frame */
#define MTW_CLIENT_FRAME_MAX 65536u /* ... of a frame from a client */
#define MTW_ENTRY_FRAME_MAX 512u    /* ... of CHALLENGE, RESPONSE, PROOF and CLIENT */
#define MTW_STRING_MAX 4096u        /* bytes of a path, an argument, a text */
#define MTW_NAME_MAX 64u            /* bytes of a mark's, a viewer's or an option's name */
#define MTW_COMM_MAX 15u            /* ... of a process, as the kernel keeps it */
#define MTW_BUILD_ID_MAX 64u        /* bytes */
#define MTW_ARGS_MAX 64u            /* arguments in HELLO; more are cut */
#define MTW_BATCH_MAX 65536u        /* entries of one batch frame */
#define MTW_MODULES_MAX (1u << 16)  /* module ids are below this */
#define MTW_NODES_MAX (1u << 26)    /* node ids are below this */
#define MTW_SLOTS_MAX (1u << 24)    /* slot ids are below this, and start at 1 */
#define MTW_THREADS_MAX (1u << 14)  /* thread indices are below this; 0 = threads beyond it */
#define MTW_MARKS_MAX 4096u         /* mark ids are 1..4095 */
#define MTW_HISTORY_OWNERS_MAX 16u  /* series in HISTORY beside the totals */
#define MTW_SAMPLES_MAX 64u         /* entries of SAMPLES */
#define MTW_STOPS_MAX 64u           /* entries of STOPS */
#define MTW_PARTS_MAX 16u           /* parts in MEMORY */
#define MTW_FEATURE_MEMORY 1u       /* in HELLO: scans of kind 2 are understood, */
#define MTW_FEATURE_COHORTS 2u      /* of kind 3 */
#define MTW_FEATURE_PEAK 4u         /* PEAK frames are sent */
#define MTW_CLIENT_COMMAND 1u       /* in CLIENT: it asks for one thing and leaves, */
#define MTW_CLIENT_PROMPT 2u        /* it acknowledges what it reads within a second, */
#define MTW_CLIENT_BY_CPU 4u        /* it wants a TICK for each tick_ns of cpu time that passed */
#define MTW_RSS_PARTS_MAX 1024u     /* of SCAN_MEMORY */
#define MTW_ACK_EVERY 16384u
#define MTW_WINDOW_MIN 65536u
#define MTW_WINDOW_MAX (4u << 20)
#define MTW_TOKEN_MAX 256u /* bytes of a TCP token */
#define MTW_NONCE_LEN 32   /* bytes of a nonce */
#define MTW_PROOF_LEN 32   /* bytes of a proof */

/*
 * Frame types. A payload is the listed fields in order; v = varint, s = string, z = zigzag varint,
 * b = string of raw bytes. "n x { ... }" is a varint count and that many groups. Ids marked with a
 * delta (+id) ascend, and are written as the difference to the previous id in the frame (the first
 * to 0); a node's parent has the lower id, so it precedes the node within a frame, too.
 */
enum mtw_type {
	/* agent to client */
	MTW_HELLO = 1,
	/* v version, v features, v pid, v uid, v start_unix_ns, v now_ns, v tick_ns, v word_bits, s
	 * arch ("x86_64"), s exe, s agent_version, s options in force, n x { s argument }, v forked
	 * (1: from a program that had the agent; it executed nothing since), then, if it is 1, the
	 * counters of its parents up to the fork: v allocated_blocks, v allocated_bytes, v
	 * freed_blocks, v freed_bytes. Its own counters include these, and so do its parent's. Then
	 * v first_epoch: a fork begins one. Slots of earlier epochs hold the inherited blocks, and
	 * what has become of them; their allocations are the parents', and stay. An older agent
	 * ends the frame before forked, or before first_epoch (its slots mix both) */
	MTW_ERROR = 2,
	/* v code (enum mtw_error), s sentence. The agent closes after it. */
	MTW_CHALLENGE = 27,
	/* b nonce: directly after the greeting, only in version 2 */
	MTW_PROOF = 28,
	/* b proof: the answer to a right RESPONSE */
	MTW_TOTALS = 3,
	/* v time_ns, v allocated_blocks, v allocated_bytes, v freed_blocks, v freed_bytes,
	 * v peak_bytes, v peak_error_bytes, v peak_time_ns, v agent_memory_bytes, v agent_cpu_ns
	 * (server's own clock), v hook_ns (estimate of time in hooks), v target_cpu_ns,
	 * v slots_total, v slots_sent (to this client; fewer while loading), v live_sent_bytes,
	 * v agent_limit_bytes (of the agent's tables; an older agent's ends before),
	 * v hook_error_ns (hook_ns is that far from the truth, at most; an older agent's ends
	 * before), v walked (percent of the live map that the walk under way has read, plus 1; 0 =
	 * none is; an older agent's ends before). While the agent makes the final state, in which
	 * there are no ticks, it sends TOTALS each second. */
	MTW_TICK = 4,
	/* v seq, v time_ns, v flags (MTW_TICK_*) */
	MTW_STATE = 5,
	/* v state (enum mtw_state), v exit status or signal number, v time_ns, v known (1: status
	 * is certain, 0: the agent could not learn it) */
	MTW_MODULE = 6,
	/* v id, v flags (MTW_MODULE_*), v load_bias, v start, v end (of the first and the last
	 * segment; another module may lie in a gap between segments), v loaded_ns, v unloaded_ns (0
	 * = loaded), b build_id, s path. Sent again when something changed. */
	MTW_NODES = 7,
	/* n x { +id, v kind (enum mtw_node), v parent, then by kind:
	 *   CODE: v module, v offset (pc - load bias; a return address unless SIGNAL follows)
	 *   SIGNAL: the same, offset is exact (an interrupted pc), not a return address
	 *   NOWHERE: v absolute pc outside every module (generated code)
	 *   TRUNCATED: v reason (enum mtw_truncation); parent is 0, stands for the missing rest
	 *   } */
	MTW_SLOTS = 8,
	/* n x { +id, v node, v epoch } */
	MTW_COUNTS = 9,
	/* n x { +slot, v allocated_blocks, v allocated_bytes, v freed_blocks, v freed_bytes } */
	MTW_THREAD = 10,
	/* v index, v tid, v flags (1 = ended), s name, v allocated_blocks, v allocated_bytes,
	 * v freed_blocks, v freed_bytes (done BY this thread) */
	MTW_PROCESS = 11,
	/* v rss_bytes, v virtual_bytes, v threads, v children (forked, running the same program;
	 * each counts for itself) */
	MTW_MARK = 12,
	/* v id, v epoch (blocks of this epoch and before were born before the mark), v flags
	 * (MTW_MARK_*), v time_ns, s name, s set_by, v allocated_blocks, v allocated_bytes,
	 * v freed_blocks, v freed_bytes, v rss_bytes. Sent again when renamed or dropped. */
	MTW_MARK_LIVE = 13,
	/* v mark id, v flags (1 = last part), n x { +slot, v live_blocks, v live_bytes }: live of
	 * each slot at the mark, where it differs from the mark before (by id, skipping marks that
	 * are dropped or reduced to their totals; the first mark differs from an empty heap;
	 * repeated equal entries are allowed). The entries of a dropped or reduced mark pass to the
	 * next mark, whose own entries win. The reader merges them; marks that it has not received
	 * whole are sent again, merged. */
	MTW_HISTORY = 14,
	/* v interval_ns, owners: n x { v module }, points: n x { v time_ns, v live_bytes, v
	 * live_blocks, v allocated_bytes, v allocated_blocks, v freed_blocks, v rss_bytes, then v
	 * live_bytes per owner }. Owner here is the innermost module that is neither the agent,
	 * libc nor libstdc++. */
	MTW_LOSS = 15,
	/* v reason (enum mtw_loss), v events, v bytes: cumulative */
	MTW_OPTION = 16,
	/* s name, s value, s who changed it ("" = at start). "unwind" is the engine in use;
	 * "unwind_why" comes with it when the agent chose the engine (unwind=auto, or the requested
	 * engine is not possible). */
	MTW_NOTICE = 17,
	/* s sentence for the person at the viewer */
	MTW_SCAN_THREADS = 18,
	/* v request id (0: not asked for, part of the final state), n x { v thread index,
	 * v live_blocks, v live_bytes }: by allocating thread */
	MTW_SCAN_AGES = 19,
	/* v request id, v blocks, v bytes, n x { v birth_ns (start of its tick), v blocks, v bytes
	 * } by birth, n x { v log2 of size (0 for 0), v blocks, v bytes } by size,
	 * n x { v thread index, v blocks, v bytes } by thread */
	MTW_STACKS = 20,
	/* v allocations, v captures (allocations whose stack was walked; the others' stacks were
	 * remembered), v whole (captures that shared no frame with the thread's last one), v frames
	 * (walked for all captures), v pc_misses (pcs without a cached unwind rule in the thread),
	 * v edge_misses (steps in the trie that were new, or looked up by hash): cumulative,
	 * once a second at most, and in the final state */

	MTW_FILTER = 21,
	/* v index (0 = first), v since_ns, v sample (mean bytes between two samples), v min_size, v
	 * max_size, v merge (outermost frames kept), s libs, s exclude, s who ("" = at start): the
	 * filters from then on, 0 and "" = no such filter. One frame per change; none if there
	 * never was a filter. */
	MTW_WEIGHED = 22,
	/* n x { +slot, v sample }: the counters of these slots are unbiased estimates, from samples
	 * every `sample` bytes on average; all other counters are exact. Comes directly after the
	 * SLOTS. */
	MTW_MEMORY = 23,
	/* n x { s part, v bytes }: agent_memory_bytes of TOTALS by purpose, at the agent's last
	 * measurement; names are the agent's own ("live map"). Complete each time. */
	MTW_SCAN_MEMORY = 24,
	/* v request id (0: not asked for, part of the final state), v time_ns, n x { v what (enum
	 * mtw_memory), s name, v rss_bytes, v mappings }: the resident memory of the process, in
	 * parts that add up to it. Files and shared memory come by name; the many small ones are
	 * joined under "". */
	MTW_SCAN_COHORTS = 25,
	/* v request id (0: not asked for, part of the final state), v flags (MTW_PART_*), v
	 * time_ns, v blocks, v bytes (alive, but in no cohort for lack of room), n x { +slot, v
	 * thread index, v age_s, v blocks, v bytes }: live blocks with the same slot, allocating
	 * thread and age. Age: seconds at time_ns, rounded down by mtw_age_step(). A slot may come
	 * more than once, also in different parts. The last part completes the answer. */
	MTW_PROVEN = 26,
	/* n x { +node, v by (enum mtw_by) }: no unwind table covers the code of these nodes; the
	 * agent found and proved their parent (the caller) in this other way. Such a parent is
	 * never the root or TRUNCATED. Comes directly after the NODES; only from unwind=cfi, which
	 * finds all other parents by tables. */

	MTW_SAMPLES = 29,
	/* v flags (MTW_SAMPLES_*), n x { +serial, v time_ns, v live_bytes, v low_bytes, v
	 * fall_bytes, v rss_bytes }: instants of the last ten minutes, oldest first, from which
	 * growth is judged. low: the lowest live value since the previous sample; fall: its largest
	 * fall in that time. Complete each time; the SAMPLE_LIVE of a sample that is no longer
	 * listed passes to the next listed one. */
	MTW_SAMPLE_LIVE = 30,
	/* v serial, then as MARK_LIVE: live of each slot at the sample, where it differs from the
	 * previous sample in SAMPLES. If the reader has both whole, a sample that takes over
	 * another's entries is not sent again. */

	MTW_PEAK = 31,
	/* v serial, v flags (MTW_PART_*), v time_ns, v allocated_blocks, v allocated_bytes,
	 * v freed_blocks, v freed_bytes (the sum over all slots at that instant), n x { +slot,
	 * v allocated_blocks, v allocated_bytes, v freed_blocks, v freed_bytes }: the counters when
	 * the heap was at its peak, of the slots where they differ from the last PEAK that this
	 * client got whole (the first: from 0). Parts of one have one serial; FIRST begins anew,
	 * LAST completes it. The live bytes are within a hundredth of the peak in TOTALS and its
	 * error; where they are less, that is the difference. Only with MTW_FEATURE_PEAK; sent
	 * again as the peak rises, once a second at most, and before the final TICK. */

	MTW_STOPS = 32,
	/* v slept_ns (the machine slept for so long in all; no time here counts that), v
	 * slept_at_ns (when it last woke), n x { v begin_ns, v end_ns (0 = it is stopped now), v
	 * stopped_ns (less than end - begin where stops were joined; 0 while it is stopped),
	 * v times (stops in the entry), v why (enum mtw_stop), v pid, s name (of the tracer, in the
	 * agent's pid namespace; 0 and "" = not known) }: when the program could not run, oldest
	 * first, without overlaps. Complete each time, before the TICK that it holds for; running
	 * time up to an earlier TICK never changes. None = it was never stopped, or the agent is
	 * older. */

	/* client to agent */
	MTW_CLIENT = 64,
	/* v features (MTW_CLIENT_...), s who (shown to other viewers), s nothing (version 1 sent
	 * the token over TCP here; an agent ignores it), v tick_ns wanted (0 = default) */
	MTW_ACK = 65,
	/* v bytes consumed since the greeting */
	MTW_SET_MARK = 66,
	/* s name ("" = none) */
	MTW_DROP_MARK = 67,
	/* v id */
	MTW_RENAME_MARK = 68,
	/* v id, s name */
	MTW_SET_OPTION = 69,
	/* s name, s value */
	MTW_SCAN = 70,
	/* v request id, v kind (enum mtw_kind), n x { +slot } (ages: of these slots; none = all) */
	MTW_DETACH = 71,
	/* nothing, or v 0: the client leaves; the target runs on, watched. v 1: the agent detaches
	 * and the target runs on without it: every viewer gets STATE (MTW_DETACHED), the last
	 * counters and a final TICK. An agent that cannot detach sends the client ERROR
	 * (MTW_E_DETACH). */
	MTW_RESPONSE = 72,
	/* b nonce, b proof: after the client's greeting, only in version 2 */

	/* in session files only, written by memtop */
	MTW_S_META = 128,
	/* s memtop version, s target as typed, v unix_ns of writing */
	MTW_S_TIME = 129,
	/* v ns since the agent started: arrival time of the following frames */
	MTW_S_SYMBOL = 130,
	/* v module, v offset, v kind (0 code, 1 signal), v source (0 its file has none, 1 symbol
	 * table, 2 DWARF), n x { s function, s file, v line, v inlined } outermost inlined first
	 * ... innermost last */
	MTW_S_EXIT = 131,
	/* v state (enum mtw_state), v status or signal: as memtop itself saw it */
	MTW_S_EXPECTED = 132,
	/* s rule, v on (1: the user marked these call sites as expected, 0: unmarked them). A rule
	 * is "MODULE!FUNCTION" (the module's file name, the function's full name), which holds in
	 * other runs and builds, or "MODULE!+0xOFFSET@BUILD-ID" (its first 8 bytes) for code
	 * without a name. `*` matches any text, `\` makes the next byte literal; the newest
	 * matching rule counts. */
	MTW_S_NOTE = 133,
	/* s sentence: a warning for reports */
	MTW_S_GENERATED = 134,
	/* v pc (of a NOWHERE node), v source, n x { ... }, both as in S_SYMBOL: generated code with
	 * a name in the program's perf map */
	/* the two below are in the table of a process tree (session.h) alone; the last one of each,
	 * and of each id, counts */
	MTW_S_TREE = 135,
	/* v matter_bytes, v matter_ns (a process that held or lived this much has a stream), v
	 * missed (processes that were not recorded), v time_ns (since the first process began), v
	 * matter_alloc_bytes (a process that allocated this much has a stream, too; 0 or absent: no
	 * such rule) */
	MTW_S_PROCESS = 136,
	/* v id (1 = the first program), v parent (its id; 0 = none), v pid, v state (0 starting, 1
	 * running, 2 exited, 3 signalled, 4 executed another program, 5 gone unseen, 6 without an
	 * agent), v status, v flags (MTW_PROCESS_*), v stream + 1 (0 = no stream: these are all its
	 * figures), v begin_ns, v end_ns (0 = it runs), v allocated_blocks, v allocated_bytes, v
	 * freed_blocks, v freed_bytes, v peak_bytes, v inherited_blocks, v inherited_bytes (live at
	 * its fork, in its parent, too), v before_blocks, v before_bytes (allocated before its
	 * fork), s name, s path, s why (no figures, or no stream), v known (1: HELLO's first_epoch
	 * tells the next two), v blocks, v bytes of the inherited ones that are live. s title (its
	 * command line, or the title that it has set; "" = not known). An older memtop ends the
	 * frame before known, or before title */
	/* the five below are in key frames (session.h) alone: what a reader of all frames up to
	 * there would have derived from them */
	MTW_S_KEY = 137,
	/* v time_ns (of the last tick), v flags (MTW_TICK_*), v ticks (read so far), n x { v
	 * looked_ns, v answers } by enum mtw_kind: the key is complete, and all its frames take
	 * effect together */
	MTW_S_INSTANTS = 138,
	/* n x { v time_ns, v ticks }, both as differences to the entry before: the instants of
	 * which each is the state after so many ticks. Later frames continue the list */
	MTW_S_POINTS = 139,
	/* v spacing_ns, n x { v time_ns, v live_bytes, v live_blocks, v allocated_bytes,
	 * v allocated_blocks, v freed_blocks, v rss_bytes }: points of the history after the
	 * agent's own */
	/* 140 and 141 were the rates of older versions: skipped */
	MTW_S_OMITTED = 142,
	/* v ticks: so many were left out here, since the session was thinned (session.h); the next
	 * tick's counters have theirs. Outside key frames */
	MTW_S_WINDOW = 143,
	/* v begin_ns (of running time: see STOPS), the totals then (v allocated_blocks, v
	 * allocated_bytes, v freed_blocks, v freed_bytes), v continued (1: more of the frame
	 * before), n x { v slot, v allocated_blocks, v allocated_bytes, v freed_bytes }: a part of
	 * the last ten seconds, up to the next one or the last tick, and what each slot did in it.
	 * Rates come from it */
	MTW_S_WINDOW_THREADS = 144,
	/* n x { v thread index, v allocated_blocks, v allocated_bytes, v freed_bytes }: what
	 * threads had done when the part of the S_WINDOW before began, where they have done more
	 * since */
};

#define MTW_PROCESS_FORKED (1u << 0) /* and executed nothing since */
#define MTW_PROCESS_STATUS_KNOWN (1u << 1)
#define MTW_PROCESS_EXACT (1u << 2) /* its figures are those at its end */
#define MTW_PROCESS_MATTERS (1u << 3)
#define MTW_PROCESS_HIDDEN                                                                         \
	(1u << 4) /* in sums alone: a fork that only executed another program                      \
		   */

#define MTW_TICK_COMPLETE (1u << 0) /* everything known was sent: sums are whole */
#define MTW_TICK_FINAL (1u << 1)    /* the target is gone; nothing follows */

#define MTW_MODULE_MAIN (1u << 0) /* the program itself */
#define MTW_MODULE_AGENT (1u << 1)
#define MTW_MODULE_LIBC (1u << 2)  /* libc, ld.so, libpthread: holds allocation wrappers */
#define MTW_MODULE_CXX (1u << 3)   /* libstdc++, libc++, libgcc_s */
#define MTW_MODULE_GONE (1u << 4)  /* unloaded */
#define MTW_MODULE_ALLOC (1u << 5) /* owns the malloc in use */
#define MTW_MODULE_VDSO (1u << 6)
/* Whether the agent sees the module's calls of allocation functions. An attached agent (OPTION
 * "attached") sets one of these once it has examined the module. A preloaded agent, to which the
 * loader binds all modules, sets only APART, and OWN of a C library that binds itself. */
#define MTW_MODULE_HOOKED (1u << 7)     /* it does */
#define MTW_MODULE_CALLS_NONE (1u << 8) /* the module makes none through any slot */
#define MTW_MODULE_OWN (1u << 9)        /* no: it has an allocator of its own, and calls that */
/* no: it is bound to another allocator, or another namespace's */
#define MTW_MODULE_ELSEWHERE (1u << 10)
#define MTW_MODULE_SPARED (1u << 11)    /* the loader, the agent, the vdso: left as they are */
#define MTW_MODULE_UNMATCHED (1u << 12) /* no: libs= or exclude= leaves out its blocks */
/* no: in a namespace of its own (dlmopen), with a libc of its own. Of any agent */
#define MTW_MODULE_APART (1u << 13)
#define MTW_MODULE_HOOKS (127u << 7) /* all of these */
/* Not a loaded module: a heap that the program reports. Its path is "heap:NAME"; it has no file and
 * no addresses, and is the innermost frame (offset 1) of its blocks' stacks. */
#define MTW_MODULE_HEAP (1u << 14)
#define MTW_MODULE_GO (1u << 15) /* Go's linker made it: its heap is not malloc's */

#define MTW_PART_FIRST (1u << 0)
#define MTW_PART_LAST (1u << 1)

#define MTW_MARK_DROPPED (1u << 0)
/* no memory for the slots' values: no SAMPLE_LIVE */
#define MTW_SAMPLES_TOTALS_ONLY (1u << 0)
#define MTW_MARK_TOTALS_ONLY (1u << 1) /* its MARK_LIVE was given up for mark_memory= */

/* After a detach the agent keeps this word as its reason for having no session (memtop_said). */
#define MTW_SAID_DETACHED "detached"

enum mtw_error {
	MTW_E_VERSION = 1, /* no common protocol version */
	MTW_E_ACCESS = 2,  /* credentials or token refused */
	MTW_E_FRAME = 3,   /* malformed frame from the client */
	MTW_E_BUSY = 4,    /* no place, or this client lost its place: section 5 */
	MTW_E_GONE = 5,    /* the target is going away */
	MTW_E_DETACH = 6,  /* the agent was loaded with the program: it cannot be taken out */
};

enum mtw_state {
	MTW_RUNNING = 0,
	/* status = exit code; with an unknown status, a signal may have ended it */
	MTW_EXITED = 1,
	MTW_SIGNALLED = 2, /* status = signal number */
	MTW_EXECED = 3, /* replaced by another program; its own agent answers next, if it has one */
	/* the two below are states of a viewer's model, never sent by an agent */
	MTW_LINK_LOST = 4,
	MTW_CUT = 5,
	/* an agent's again */
	MTW_DETACHED = 6, /* the agent detached; the program runs on unwatched */
	MTW_STATE_COUNT = 7,
};

enum mtw_node {
	MTW_NODE_CODE = 0,
	MTW_NODE_SIGNAL = 1,
	MTW_NODE_NOWHERE = 2,
	MTW_NODE_TRUNCATED = 3
};

enum mtw_by { MTW_BY_POINTER = 1 /* the frame pointer; other numbers: a later agent's ways */ };

enum mtw_truncation {
	MTW_TRUNC_NONE = 0,
	MTW_TRUNC_NO_CFI = 1,   /* no unwind table for a pc (generated or hand-written code) */
	MTW_TRUNC_BAD_CFI = 2,  /* a rule led inwards, to an unaligned or to an unreadable place */
	MTW_TRUNC_DEPTH = 3,    /* the depth limit; the missing frames are the outermost */
	MTW_TRUNC_NODES = 4,    /* the trie met its memory cap */
	MTW_TRUNC_REENTRY = 5,  /* allocated by a signal handler inside a capture */
	MTW_TRUNC_SWITCHED = 6, /* a stack that ends nowhere (coroutine without an end mark) */
	MTW_TRUNC_EARLY = 7,    /* allocated before the agent could unwind */
	MTW_TRUNC_COUNT = 8,
};

enum mtw_kind { /* of a scan; MEMORY, COHORTS: of agents with that MTW_FEATURE_... */
		MTW_KIND_THREADS = 0,
		MTW_KIND_AGES = 1,
		MTW_KIND_MEMORY = 2,
		MTW_KIND_COHORTS = 3,
		MTW_KIND_COUNT = 4,
};

enum mtw_memory {
	MTW_MEMORY_LIVE = 0,     /* requested bytes of live blocks */
	MTW_MEMORY_ROUNDING = 1, /* the allocator's addition to each of them, where known */
	/* the rest of the mappings that blocks lie in: free lists, the allocator's own */
	MTW_MEMORY_FREE = 2,
	MTW_MEMORY_FILE = 3,   /* code and data of files */
	MTW_MEMORY_SHARED = 4, /* shared memory */
	MTW_MEMORY_STACK = 5,  /* of threads */
	MTW_MEMORY_AGENT = 6,
	MTW_MEMORY_OTHER = 7, /* mapped by the program itself, and no blocks in it */
	MTW_MEMORY_COUNT = 8,
};

enum mtw_stop {                      /* other numbers: a later agent's */
		MTW_STOP_UNSEEN = 0, /* not known: the agent was stopped with it */
		MTW_STOP_SIGNAL = 1, /* SIGSTOP, or job control */
		MTW_STOP_TRACED = 2, /* by a debugger */
		MTW_STOP_FROZEN = 3, /* by its cgroup (docker pause), or with its machine */
};

enum mtw_loss {
	MTW_LOSS_SHADOW = 0, /* block could not be entered in the live map: memory cap, rlimit */
	MTW_LOSS_SLOTS = 1,  /* out of slot ids: booked to its stack's oldest slot */
	/* free of a block never seen allocated (from before the agent); bytes are its usable size
	 * where the agent was attached (OPTION "attached"), else 0 */
	MTW_LOSS_UNKNOWN_FREE = 2,
	MTW_LOSS_UNSEEN_FREE = 3, /* block found occupied: freed past the agent, healed */
	MTW_LOSS_THREADS = 4,     /* thread indices exhausted: booked to index 0 */
	MTW_LOSS_MARKS = 5,       /* marks reduced to their totals */
	MTW_LOSS_COUNT = 6,
};

/* Ages as sent: exact to the second below 32 s, above that rounded down to a sixteenth of a power
 * of two. */
static inline uint32_t mtw_age_step(uint32_t seconds)
{
	unsigned dropped = seconds < 32 ? 0 : 27u - (unsigned)__builtin_clz(seconds);

	return seconds >> dropped << dropped;
}

/*
 * Writing: append to a caller's buffer; the cursor never passes end, and overflow is remembered.
 */
struct mtw_out {
	uint8_t *at, *end;
	bool full; /* something did not fit; contents are then unusable */
};

static inline void mtw_put(struct mtw_out *o, uint64_t v)
{
	while (v >= 0x80) {
		if (o->at >= o->end) {
			o->full = true;
			return;
		}
		*o->at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	if (o->at >= o->end) {
		o->full = true;
		return;
	}
	*o->at++ = (uint8_t)v;
}

static inline void mtw_put_bytes(struct mtw_out *o, const void *p, size_t len)
{
	mtw_put(o, len);
	if ((size_t)(o->end - o->at) < len) {
		o->full = true;
		return;
	}
	memcpy(o->at, p, len);
	o->at += len;
}

static inline void mtw_put_string(struct mtw_out *o, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	mtw_put_bytes(o, s ? s : "", len > MTW_STRING_MAX ? MTW_STRING_MAX : len);
}

/*
 * Reading: a cursor over one payload. After the first violation `bad` stays set, every get
 * returns 0, and the cursor stands still.
 */
struct mtw_in {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t mtw_get(struct mtw_in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		if (in->bad || in->at >= in->end)
			break;
		uint8_t b = *in->at++;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	in->bad = true;
	return 0;
}

/* A value below `limit`, or bad. */
static inline uint64_t mtw_get_below(struct mtw_in *in, uint64_t limit)
{
	uint64_t v = mtw_get(in);

	if (v >= limit) {
		in->bad = true;
		return 0;
	}
	return v;
}

/* Borrowed from the payload; *len is at most max, else bad. Not NUL-terminated. */
static inline const char *mtw_get_bytes(struct mtw_in *in, size_t max, size_t *len)
{
	uint64_t n = mtw_get(in);

	*len = 0;
	if (in->bad || n > max || n > (uint64_t)(in->end - in->at)) {
		in->bad = true;
		return "";
	}
	const char *p = (const char *)in->at;
	in->at += n;
	*len = (size_t)n;
	return p;
}

/*
 * One frame header at *buf (len bytes there): > 0 bytes of header, 0 when more bytes are
 * needed, -1 when malformed or the payload would pass max.
 */
static inline int mtw_frame(const uint8_t *buf, size_t len, uint64_t max, uint64_t *type,
			    uint64_t *payload)
{
	struct mtw_in in = { buf, buf + len, false };

	*type = mtw_get(&in);
	*payload = mtw_get(&in);
	if (in.bad)
		return len >= 20 ? -1 : 0;
	if (*payload > max)
		return -1;
	return (int)(in.at - buf);
}

#endif
