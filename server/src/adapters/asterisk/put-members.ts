import { messageOf } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Clock } from '../../ports/clock.ts';
import type { WantedMember } from '../../ports/engine-site.ts';
import { memberActions } from './actions/members.ts';
import { AmiConnection } from './ami/connection.ts';
import type { Instance } from './conf/instance.ts';
import { memberOf } from './events/names.ts';

/** Actions under way at once, below the limit of one connection. */
const AT_ONCE = 200;
/** Limit for all of them: a takeover does not wait longer. */
const LIMIT_MS = 3_000;

/** See `EngineSite.putMembers`. */
export async function putMembers(
  instance: Instance,
  members: readonly WantedMember[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const ami = await AmiConnection.forActions(instance, { clock, log, signal });
  const verbs = memberActions(() => ami);
  async function put({
    extension,
    queue,
    member,
    dynamic,
    paused,
    reason,
    penalty,
  }: WantedMember): Promise<void> {
    const one = { ...memberOf(extension), name: extension };
    if (!member) return await verbs.removeMember(queue, one.interface, { signal }).catch(() => undefined);
    const added =
      dynamic &&
      (await verbs.addMember({ ...one, queue, penalty, paused, reason }, { signal }).then(
        () => true,
        () => false,
      ));
    // It is there already: listed in the configuration, or from an earlier time in which this node led.
    if (!added) await verbs.pauseMember(queue, one.interface, paused, reason, { signal });
  }
  try {
    for (let i = 0; i < members.length; i += AT_ONCE) {
      const results = await Promise.allSettled(members.slice(i, i + AT_ONCE).map(put));
      for (const one of results)
        if (one.status === 'rejected')
          log.warn({ error: messageOf(one.reason) }, 'a queue member could not be added yet');
    }
  } finally {
    ami.close();
  }
}
