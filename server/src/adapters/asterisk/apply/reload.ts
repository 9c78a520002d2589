/** Maps each file to the part of the engine that loads it, and reloads these parts. */
import { ServiceError } from '../../../core/errors.ts';
import type { Clock } from '../../../ports/clock.ts';
import { ACTION_MS } from '../ami/connection.ts';
import type { AmiConnection } from '../ami/connection.ts';
import { TURN_FILE } from '../conf/turn-file.ts';

/** In an order in which referenced objects are loaded first. */
const PARTS: readonly { readonly module: string; readonly files: readonly string[] }[] = [
  { module: 'manager', files: ['manager.conf'] },
  { module: 'logger', files: ['logger.conf'] },
  { module: 'cel', files: ['cel.conf'] },
  { module: 'indications', files: ['indications.conf'] },
  { module: 'res_musiconhold', files: ['musiconhold.conf'] },
  { module: 'app_voicemail', files: ['voicemail.conf'] },
  { module: 'res_parking', files: ['res_parking.conf'] },
  { module: 'app_confbridge', files: ['confbridge.conf'] },
  { module: 'features', files: ['features.conf'] },
  {
    module: 'res_pjsip',
    files: [
      'pjsip.conf',
      'pjsip_shared.conf',
      'pjsip_endpoints.conf',
      'pjsip_auths.conf',
      'pjsip_aors.conf',
      'pjsip_acl.conf',
    ],
  },
  { module: 'res_rtp_asterisk', files: ['rtp.conf'] },
  { module: 'app_queue', files: ['queuerules.conf', 'queues.conf'] },
  { module: 'pbx_config', files: ['extensions.conf'] },
];
const BUSY = /reload is in progress/i;
const BUSY_MS = { every: 100, most: 60_000 };

/** Our file that includes a hand-written one. */
export const ownerOf = (name: string): string => name.replace(/^custom\//, '');
export const needsRestart = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name !== TURN_FILE && !PARTS.some((part) => part.files.includes(ownerOf(name))));

/**
 * Reloads each part, one after the other. The engine's answer proves nothing, so only a missing answer is an error:
 * `engine_timeout`, `engine_unavailable`.
 */
export async function reloadParts(
  ami: AmiConnection,
  names: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal },
): Promise<void> {
  const files = new Set(names.map(ownerOf));
  for (const part of PARTS) {
    if (!part.files.some((file) => files.has(file))) continue;
    const until = clock.now() + BUSY_MS.most;
    for (;;) {
      signal?.throwIfAborted();
      const waiting = { ms: ACTION_MS.reload, ...(signal ? { signal } : {}) };
      const answer = await ami.action('Reload', { Module: part.module }, waiting);
      if (answer.ok || !BUSY.test(answer.message)) break;
      if (clock.now() > until)
        throw new ServiceError('engine_timeout', 'another reload of the engine does not finish');
      await clock.sleep(BUSY_MS.every, signal);
    }
  }
}
