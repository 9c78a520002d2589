/** Commands on the stream's own connection: each is sent at most once, even if its result does not arrive. */
import type { ClientFrame } from '@offhook/contract/stream.ts';
import { clientError } from './errors.ts';
import type { OffhookError } from './errors.ts';

export interface CommandOptions {
  /** Limit for the result, connecting included; 30,000 ms by default. */
  readonly timeout_ms?: number;
  /** A later command with the same key gets the result of the first. */
  readonly idempotency_key?: string;
}
type Frame = ClientFrame & { op: 'command' };
type Outcome = { readonly data: unknown } | { readonly error: Error };
interface Waiting {
  readonly frame: Frame;
  sent: boolean;
  settle(outcome: Outcome): void;
}
export interface Commands {
  readonly pending: number;
  run(action: string, data?: object, options?: CommandOptions): Promise<unknown>;
  /** Sends the waiting commands over a connection that is ready. */
  found(send: (frame: Frame) => void): void;
  /** Rejects each sent command with `outcome_unknown`, because the connection is lost. */
  lost(): void;
  /** Settles the command with this id; false if there is none. */
  result(id: string | number, outcome: Outcome): boolean;
  end(error: Error): void;
}

export function createCommands(env: { after(ms: number, run: () => void): () => void }): Commands {
  const waiting = new Map<string, Waiting>();
  let count = 0;
  let sender: ((frame: Frame) => void) | null = null;
  let ended: Error | null = null;

  const unknown = (frame: Frame, why: string): OffhookError =>
    clientError(
      'outcome_unknown',
      `${frame.action}: ${why}; it may have been done, look before you repeat it`,
    );
  return {
    get pending() {
      return waiting.size;
    },
    run(action, data = {}, { timeout_ms = 30_000, idempotency_key } = {}) {
      if (ended !== null) return Promise.reject(ended);
      const id = `c${(count += 1)}`;
      const frame: Frame = {
        op: 'command',
        id,
        action,
        data: data as Record<string, unknown>,
        ...(idempotency_key === undefined ? {} : { idempotency_key }),
      };
      return new Promise((resolve, reject) => {
        const stop = env.after(timeout_ms, () => {
          const error = command.sent
            ? unknown(frame, `no result within ${timeout_ms} ms`)
            : clientError('not_sent', `${action}: there was no connection within ${timeout_ms} ms`);
          command.settle({ error });
        });
        const command: Waiting = {
          frame,
          sent: sender !== null,
          settle(outcome) {
            stop();
            waiting.delete(id);
            if ('error' in outcome) reject(outcome.error);
            else resolve(outcome.data);
          },
        };
        waiting.set(id, command);
        sender?.(frame);
      });
    },
    found(send) {
      sender = send;
      for (const command of waiting.values()) {
        command.sent = true;
        send(command.frame);
      }
    },
    lost() {
      sender = null;
      for (const command of waiting.values()) {
        if (!command.sent) continue;
        command.settle({ error: unknown(command.frame, 'the connection was lost before its result') });
      }
    },
    result(id, outcome) {
      const command = waiting.get(String(id));
      command?.settle(outcome);
      return command !== undefined;
    },
    end(error) {
      ended = error;
      for (const command of waiting.values()) command.settle({ error });
    },
  };
}
