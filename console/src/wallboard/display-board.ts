/** The board of a display, reloaded at an interval and after any failure. */
import { OffhookError } from '@offhook/client';
import type { Client } from '@offhook/client';
import type { Board } from '@offhook/contract/boards.ts';
import { learnTime } from '../app/now.ts';

/** Interval at which the board is reloaded, and the pause after a failure. */
const LOOK_MS = 30_000;
export const AGAIN_MS = 5_000;
const REFUSED = new Set([401, 403, 404]);

export interface Look {
  readonly board: Board | null;
  /** `refused`: the key is not valid any more. `away`: no answer. */
  readonly is: 'asking' | 'shown' | 'refused' | 'away';
}
/**
 * Reloads the board until the returned function is called, at once on the events `online` and `offhook-look` of the window. A page
 * older than the service reloads itself.
 */
export function followBoard(
  client: Pick<Client, 'ping' | 'boards'>,
  id: number,
  show: (next: (old: Look) => Look) => void,
): () => void {
  let round = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let version: string | null = null;
  async function ask(): Promise<void> {
    clearTimeout(timer);
    // A request without an answer would end later and arm a second timer.
    round.abort();
    round = new AbortController();
    const { signal } = round;
    let wait = LOOK_MS;
    try {
      const asked = Date.now();
      const ping = await client.ping(signal);
      learnTime(ping.server_time, asked, Date.now());
      const { board } = await client.boards.get(id, signal);
      if (signal.aborted) return;
      if (version !== null && version !== ping.version) return location.reload();
      version = ping.version;
      show((old) => ({
        is: 'shown',
        board: old.board !== null && old.board.version === board.version ? old.board : board,
      }));
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof OffhookError && REFUSED.has(error.status);
      wait = refused ? LOOK_MS : AGAIN_MS;
      show((old) => ({ is: refused ? 'refused' : 'away', board: refused ? null : old.board }));
    }
    timer = setTimeout(() => void ask(), wait);
  }
  const now = (): void => void ask();
  now();
  addEventListener('online', now);
  addEventListener('offhook-look', now);
  return () => {
    round.abort();
    clearTimeout(timer);
    removeEventListener('online', now);
    removeEventListener('offhook-look', now);
  };
}
