import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createQualityMeter, gradeOf, mosOf } from './quality.ts';
import type { Counted } from './quality.ts';

const counted = (over: Partial<Counted>): Counted => ({
  received: 0,
  lost: 0,
  jitter_ms: 2,
  waited_seconds: 0,
  played: 0,
  round_trip_ms: 40,
  codec: 'opus',
  ...over,
});
const near = (value: number, wanted: number): void =>
  assert.ok(Math.abs(value - wanted) < 0.02, `${value} is not ${wanted}`);

test('call quality - the estimate is that of the E-model', () => {
  near(mosOf(0, 0), 4.41);
  near(mosOf(0, 100), 4.36);
  near(mosOf(0, 400), 3.05);
  near(mosOf(0.05, 50), 3.87);
  near(mosOf(0.2, 50), 2.57);
  assert.equal(mosOf(1, 1_000), 1);
  assert.deepEqual([mosOf(0, 20), mosOf(0.08, 50), mosOf(0.15, 80)].map(gradeOf), ['good', 'fair', 'bad']);
});
test('call quality - each interval has its own quality, and the call that of all intervals', () => {
  const meter = createQualityMeter();
  assert.deepEqual([meter.now, meter.report()], [null, null]);
  meter.add(counted({ received: 100, played: 48_000, waited_seconds: 2_400 }), 2);
  const good = meter.now!.mos;
  assert.ok(good > 4.2 && meter.now!.loss === 0, JSON.stringify(meter.now));
  meter.add(counted({ received: 180, lost: 20, jitter_ms: 6 }), 2);
  assert.equal(meter.now!.loss, 0.2);
  const bad = meter.now!.mos;
  assert.ok(bad < 2.7);
  meter.add(counted({ received: 180, lost: 20 }), 2);
  assert.equal(meter.now, null, 'nothing came');
  meter.skip();
  meter.add(counted({ received: 180, lost: 20 }), 2);
  meter.add(counted({ received: 190, lost: 60 }), 2);
  assert.equal(meter.now, null, 'the numbers of the packets jumped over a hold');
  meter.add(counted({ received: 290, lost: 60 }), 2);
  assert.equal(meter.now!.loss, 0);
  // A late packet is not lost.
  meter.add(counted({ received: 381, lost: 59 }), 2);
  assert.equal(meter.now!.loss, 0);
  const { mos, worst_mos, ...report } = meter.report()!;
  assert.equal(worst_mos, Math.round(bad * 100) / 100);
  assert.ok(mos > worst_mos && mos < good);
  assert.deepEqual(report, {
    codec: 'opus',
    loss: 0.0475,
    jitter_ms: 3,
    round_trip_ms: 40,
    packets_received: 381,
    packets_lost: 19,
    duration_seconds: 8,
  });
});
