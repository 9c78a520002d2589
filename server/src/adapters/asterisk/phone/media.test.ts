import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../test/support/until.ts';
import { openMedia, openWire } from './media.ts';
import type { MediaWire } from './media.ts';

test('phone/media - a packet that is lost on the way is missing in the tone, whoever numbered the packets', async () => {
  const wire = await openWire('127.0.0.1');
  const lost = new Set([7, 20, 21]);
  let sent = 0;
  const lossy: MediaWire = {
    ...wire,
    send(data, port, host) {
      if (!lost.has((sent += 1))) wire.send(data, port, host);
    },
  };
  const [speaks, hears] = [await openMedia({ wire: lossy }), await openMedia()];
  try {
    speaks.play('tone');
    speaks.connect(hears.sdp());
    await until('the packets after the lost ones', () => hears.counts.received >= 30);
    assert.equal(hears.counts.missing, lost.size);
    speaks.play('silence');
    const { heard } = hears.counts;
    await until('silence', () => hears.counts.received > heard + 5);
    speaks.play('tone');
    await until('the tone again', () => hears.counts.heard > heard + 5);
    assert.equal(hears.counts.missing, lost.size, 'a pause is no loss');
  } finally {
    speaks.close();
    hears.close();
  }
});
