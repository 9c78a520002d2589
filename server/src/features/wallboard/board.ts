/** What the events so far left open; with the sums of what they counted, all that the next event needs. */
export interface Visit {
  readonly queue: string;
  /** Milliseconds since 1970. */
  readonly joined_at: number;
}
/** A visit whose end was not seen, or that was counted when the call records told it. */
export interface UnseenVisit extends Visit {
  readonly leg_id: string;
  readonly call: string;
}
/** An agent's part in a queue call: from its talk to the end of the wrap-up after it. */
export interface Handling {
  readonly queue: string;
  /** The call as it is called now. */
  call: string;
  readonly since: number;
  held_ms: number;
  held_since: number | null;
  /** When the call itself ended, known before the agent's own event. */
  call_ended_at: number | null;
  wrap_up: { readonly since: number; readonly connected_seconds: number; deadline: number } | null;
}
export interface BoardAgent {
  /** Whether it is paused, by queue. */
  readonly queues: Map<string, boolean>;
  /** What keeps a free agent from being offered calls, beside a pause. */
  away: 'no' | 'other_call' | 'unreachable';
  handling: Handling | null;
  /** The call of the newest handling that is over. */
  handled_call: string | null;
  /** Up to when its time is counted. */
  counted_to: number;
}
/** A call that has been in a queue. */
export interface QueueCall {
  readonly since: number;
  readonly queues: string[];
  readonly agents: string[];
  /** By whom and for which queue it was handled last, until it is transferred. */
  handled: { readonly queue: string; readonly extension: string } | null;
}
export interface Board {
  /** By queue and leg. */
  readonly visits: Map<string, Visit>;
  /** Counted as lost, so far; and those of which the call records told the end. Newest last. */
  lost: readonly UnseenVisit[];
  settled: readonly UnseenVisit[];
  readonly calls: Map<string, QueueCall>;
  /** By extension. */
  readonly agents: Map<string, BoardAgent>;
  /** Whole seconds of the newest handlings of each queue, oldest first. */
  readonly handlings: Map<string, number[]>;
  /** The newest slot in which what was never ended was looked for. */
  tidied_slot: number;
  /** `boot_id` of the engine that was heard last. */
  engine: string | null;
}

export const emptyBoard = (): Board => ({
  visits: new Map(),
  lost: [],
  settled: [],
  calls: new Map(),
  agents: new Map(),
  handlings: new Map(),
  tidied_slot: 0,
  engine: null,
});

const VERSION = 1;
export function writeBoard(board: Board): string {
  return JSON.stringify({
    version: VERSION,
    visits: [...board.visits],
    lost: board.lost,
    settled: board.settled,
    calls: [...board.calls],
    agents: [...board.agents].map(([extension, agent]) => [
      extension,
      { ...agent, queues: [...agent.queues] },
    ]),
    handlings: [...board.handlings],
    tidied_slot: board.tidied_slot,
    engine: board.engine,
  });
}
/** Null for a text that another version wrote. */
export function readBoard(text: string): Board | null {
  const read = JSON.parse(text) as {
    version: unknown;
    visits: [string, Visit][];
    calls: [string, QueueCall][];
    agents: [string, Omit<BoardAgent, 'queues'> & { queues: [string, boolean][] }][];
    handlings: [string, number[]][];
    tidied_slot: number;
    /** Not in what was written before these were kept. */
    engine?: string | null;
    lost?: UnseenVisit[];
    settled?: UnseenVisit[];
  };
  if (read.version !== VERSION) return null;
  return {
    visits: new Map(read.visits),
    lost: read.lost ?? [],
    settled: read.settled ?? [],
    calls: new Map(read.calls),
    agents: new Map(read.agents.map(([extension, a]) => [extension, { ...a, queues: new Map(a.queues) }])),
    handlings: new Map(read.handlings),
    tidied_slot: read.tidied_slot,
    engine: read.engine ?? null,
  };
}
