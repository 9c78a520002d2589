import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import { AmiConnection } from './ami/connection.ts';
import type { Instance } from './conf/instance.ts';
import { H } from './events/headers.ts';
import { isHealthCall } from './health-call.ts';

/** Limit of the count, in ms. */
const LIMIT_MS = 3_000;

/**
 * Calls of an engine that nothing follows. Throws `engine_unavailable`, also while the engine waits for its last call: it then answers
 * neither by AMI nor in its console.
 */
export async function countCalls(
  instance: Instance,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<number> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const ami = await AmiConnection.forActions(instance, { clock, log, signal });
  const calls = new Set<string>();
  try {
    await ami.list(
      'CoreShowChannels',
      {},
      (event, frame) => {
        if (event === 'CoreShowChannel' && !isHealthCall(frame.get(H.uniqueid), frame.get(H.channel)))
          calls.add(frame.get(H.linkedid) ?? '');
      },
      { signal },
    );
  } finally {
    ami.close();
  }
  return calls.size;
}
