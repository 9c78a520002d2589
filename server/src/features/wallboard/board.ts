import { isDeepStrictEqual } from 'node:util';

/** A visit without an end so far. */
export interface Visit {
  readonly queue: string;
  /** Milliseconds since 1970. */
  readonly joined_at: number;
}
/** A visit whose end no event reported, or that was counted from the call records. */
export interface UnseenVisit extends Visit {
  readonly leg_id: string;
  readonly call: string;
}
/** An agent's part in a queue call: from its talk to the end of the wrap-up after it. */
export interface Handling {
  readonly queue: string;
  /** Current id of the call. */
  call: string;
  readonly since: number;
  held_ms: number;
  held_since: number | null;
  /** End of the call itself, known before the agent's own event. */
  call_ended_at: number | null;
  /** True once the agent has left all its queues during the talk. */
  left?: boolean;
  wrap_up: { readonly since: number; readonly connected_seconds: number; deadline: number } | null;
}
export interface BoardAgent {
  /** Paused state by queue. */
  readonly queues: Map<string, boolean>;
  /** Condition beside a pause that keeps a free agent from offers. */
  away: 'no' | 'other_call' | 'unreachable';
  handling: Handling | null;
  /** Handlings that the present one interrupted; missing while there is none. */
  beside?: readonly Handling[];
  /** Call of the newest finished handling. */
  handled_call: string | null;
  /** Time up to which the agent's time is counted. */
  counted_to: number;
}
/** Agent and queue that handle a call. */
export interface Handler {
  readonly queue: string;
  readonly extension: string;
}
/** A call that was in a queue. */
export interface QueueCall {
  readonly since: number;
  readonly queues: string[];
  readonly agents: string[];
  /** Agents that handle it and did not transfer it yet, newest last; several after an attended transfer to an agent. */
  handled: readonly Handler[];
}
export interface Board {
  /** By queue and leg. */
  readonly visits: Map<string, Visit>;
  /** `lost`: visits counted as lost so far; `settled`: visits whose end the call records reported. Newest last. */
  lost: readonly UnseenVisit[];
  settled: readonly UnseenVisit[];
  readonly calls: Map<string, QueueCall>;
  /** By extension. */
  readonly agents: Map<string, BoardAgent>;
  /** Extensions by the queues in which they work; made from `agents`, so that a queue costs its own agents only. */
  readonly agentsOf: Map<string, Set<string>>;
  /** Whole seconds of the newest handlings of each queue, oldest first. */
  readonly handlings: Map<string, number[]>;
  /** Last interval checked for visits and calls without an end. */
  tidied_slot: number;
  /** `boot_id` of each engine in its newest event, by node; empty in the board of an earlier version. */
  readonly engines: Map<string, string>;
  /** Time since which no events of an engine are received, ms since 1970, by node; null while it is linked. */
  readonly unheard: Map<string, number | null>;
  /** Node of the engine that was linked first after the newest start, which is that of the leading node. */
  leader: string | null;
  /** `boot_id` of one engine, from the board of an earlier version, which had no `engines`; null once it was linked. */
  engine: string | null;
}

export const emptyBoard = (): Board => ({
  visits: new Map(),
  lost: [],
  settled: [],
  calls: new Map(),
  agents: new Map(),
  agentsOf: new Map(),
  handlings: new Map(),
  tidied_slot: 0,
  engines: new Map(),
  unheard: new Map(),
  leader: null,
  engine: null,
});

/** Queues in which the agent is a member or has a handling; one may come twice. */
export function* worksIn({ queues, handling }: BoardAgent): Generator<string, void, void> {
  yield* queues.keys();
  if (handling !== null) yield handling.queue;
}
/** Builds `agentsOf` from `agents`. */
export function indexAgents({ agents, agentsOf }: Pick<Board, 'agents' | 'agentsOf'>): void {
  agentsOf.clear();
  for (const [extension, agent] of agents)
    for (const queue of worksIn(agent)) add(agentsOf, queue, extension);
}
function add(agentsOf: Board['agentsOf'], queue: string, extension: string): void {
  const extensions = agentsOf.get(queue);
  if (extensions === undefined) agentsOf.set(queue, new Set([extension]));
  else extensions.add(extension);
}
/** Updates one agent in `agentsOf`; `before` are the queues in which it worked. O(its queues). */
export function indexAgent(
  { agents, agentsOf }: Board,
  extension: string,
  before: ReadonlySet<string>,
): void {
  const agent = agents.get(extension);
  const now = new Set(agent === undefined ? [] : worksIn(agent));
  for (const queue of before) {
    if (now.has(queue)) continue;
    const extensions = agentsOf.get(queue);
    extensions?.delete(extension);
    if (extensions?.size === 0) agentsOf.delete(queue);
  }
  for (const queue of now) add(agentsOf, queue, extension);
}

const VERSION = 1;
/** A call in the text. `handled` is the newest handler, which earlier versions read too; `handlers`: all, if it has several. */
type WrittenCall = Omit<QueueCall, 'handled'> & {
  readonly handled: Handler | null;
  readonly handlers?: readonly Handler[];
};
const writtenCall = ({ handled, ...call }: QueueCall): WrittenCall => ({
  ...call,
  handled: handled.at(-1) ?? null,
  ...(handled.length > 1 ? { handlers: handled } : {}),
});
/** An earlier version changes `handled` alone and keeps `handlers`, which are then out of date. */
function readCall({ handled, handlers = [], ...call }: WrittenCall): QueueCall {
  const current = isDeepStrictEqual(handlers.at(-1) ?? null, handled);
  return { ...call, handled: current ? handlers : handled === null ? [] : [handled] };
}
export function writeBoard(board: Board): string {
  return JSON.stringify({
    version: VERSION,
    visits: [...board.visits],
    lost: board.lost,
    settled: board.settled,
    calls: [...board.calls].map(([id, call]) => [id, writtenCall(call)]),
    agents: [...board.agents].map(([extension, agent]) => [
      extension,
      { ...agent, queues: [...agent.queues] },
    ]),
    handlings: [...board.handlings],
    tidied_slot: board.tidied_slot,
    engines: [...board.engines],
    unheard: [...board.unheard],
    leader: board.leader,
    engine: board.engine,
  });
}
/** Null for the text of another version. */
export function readBoard(text: string): Board | null {
  const read = JSON.parse(text) as {
    version: unknown;
    visits: [string, Visit][];
    calls: [string, WrittenCall][];
    agents: [string, Omit<BoardAgent, 'queues'> & { queues: [string, boolean][] }][];
    handlings: [string, number[]][];
    tidied_slot: number;
    /** Missing in texts of earlier versions. */
    engine?: string | null;
    engines?: [string, string][];
    unheard?: [string, number | null][];
    leader?: string | null;
    lost?: UnseenVisit[];
    settled?: UnseenVisit[];
  };
  if (read.version !== VERSION) return null;
  const board: Board = {
    visits: new Map(read.visits),
    lost: read.lost ?? [],
    settled: read.settled ?? [],
    calls: new Map(read.calls.map(([id, call]) => [id, readCall(call)])),
    agents: new Map(read.agents.map(([extension, a]) => [extension, { ...a, queues: new Map(a.queues) }])),
    agentsOf: new Map(),
    handlings: new Map(read.handlings),
    tidied_slot: read.tidied_slot,
    engines: new Map(read.engines),
    unheard: new Map(read.unheard),
    leader: read.leader ?? null,
    engine: read.engine ?? null,
  };
  indexAgents(board);
  return board;
}
