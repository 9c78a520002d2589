/** A simulator for a test, and requests to it with its key. */
import type { TestContext } from 'node:test';
import { createSimulator } from '../../src/simulator/simulator.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';

/** Members of replies that tests read; each reply has some of them. */
export interface Reply {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly now: string;
  readonly calls: readonly {
    readonly call_id: string;
    readonly state: string;
    readonly legs: readonly { readonly leg_id: string }[];
  }[];
  readonly conversations: readonly {
    readonly id: string;
    readonly state: string;
    readonly direction: string;
    readonly disposition: string;
    readonly ended_by: string;
    readonly talk_time: number;
    readonly hold_time: number;
    readonly has_recording: boolean;
    readonly extensions: readonly string[];
  }[];
  readonly agents: readonly { readonly extension: string; readonly state: string }[];
  readonly events: readonly { readonly type: string }[];
  readonly cursor: number;
  readonly gap: unknown;
  readonly operation: { readonly call_id: string };
}
export async function simulated(t: TestContext): Promise<Simulator> {
  const simulator = await createSimulator();
  t.after(() => simulator.close());
  return simulator;
}
export async function ask(simulator: Simulator, path: string, init: RequestInit = {}): Promise<Reply> {
  const response = await fetch(simulator.base + path, {
    ...init,
    headers: { authorization: `Bearer ${simulator.key}`, 'content-type': 'application/json' },
  });
  return { ...((await response.json()) as Reply), status: response.status };
}
export const post = (simulator: Simulator, path: string, body: unknown): Promise<Reply> =>
  ask(simulator, path, { method: 'POST', body: JSON.stringify(body) });
