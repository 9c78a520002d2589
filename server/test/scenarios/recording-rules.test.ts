import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as talk } from 'node:timers/promises';
import { describe, test } from 'node:test';
import type { Recording } from '@offhook/contract/recordings.ts';
import { RecordingsReply } from '@offhook/contract/recordings.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import { prepareDemo } from '../support/company.ts';
import type { PhoneCall } from '../support/phone.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('recording by rule', () => {
  const site = useSite({
    prepare: prepareDemo(async (store) => {
      await putObjects(store, {
        extension: ['1003', '1007'].map((extension) => ({ extension, recording: 'always' })),
        queue: [{ name: 'support', recording: 'always' }],
      });
    }),
  });
  const recordings = async (): Promise<readonly Recording[]> => {
    const { token } = await site().person('1001');
    const response = await fetch(`${site().base}/api/v1/recordings`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return RecordingsReply.parse(await response.json()).recordings.toReversed();
  };
  /** Rules of the stored recordings, once there are `count`. */
  const stored = (count: number): Promise<readonly string[]> =>
    until(
      `${count} recordings to be stored`,
      async () => {
        const all = await recordings();
        const done = all.length >= count && all.every((r) => r.state === 'stored' && r.bytes! > 8_000);
        return done && all.map((r) => `${r.by} ${r.queue ?? r.extension}`);
      },
      { seen: recordings },
    );
  async function speak(call: PhoneCall, other: PhoneCall): Promise<void> {
    call.play('tone');
    other.play('tone');
    await Promise.all([call.hears(), other.hears()]);
    await talk(1_000);
    await call.hangup();
    await other.ended();
  }

  test('a queue and its agent: one recording of the caller; one made during an absence of the service is found', async () => {
    await using caller = await site().phone('1008');
    await using agent = await site().phone('1003');
    await using owner = await site().phone('1007');
    const call = await caller.invite('500');
    await call.answered();
    const offered = await agent.incoming();
    offered.ring();
    await offered.answer();
    await speak(call, offered);
    assert.deepEqual(await stored(1), ['queue support']);

    await site().kill('SIGKILL');
    const unseen = await caller.invite('1007');
    const incoming = await owner.incoming();
    await incoming.answer();
    await unseen.answered();
    await speak(unseen, incoming);
    const refused = await caller.invite('1007');
    (await owner.incoming()).reject(486);
    await refused.answered().catch(() => {});
    await refused.hangup();
    await site().start();
    assert.deepEqual(await stored(2), ['queue support', 'extension 1007']);
    assert.equal((await readdir(path.join(site().dataDir, 'recordings'))).length, 2);
  });
});
