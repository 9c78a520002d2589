import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { Outcomes } from './outcomes.ts';

const notYet = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'engine_unavailable';

test('outcomes - nothing is waited for where every command was answered', async () => {
  await new Outcomes(systemClock).settled(1);
});
test('outcomes - a command that was given up on is known by a snapshot that was asked for after it, and by none before', async () => {
  const outcomes = new Outcomes(systemClock);
  const before = outcomes.open;
  outcomes.unanswered();
  const after = outcomes.open;
  outcomes.known(before);
  await assert.rejects(outcomes.settled(5), notYet);
  const waiting = outcomes.settled(10_000);
  outcomes.known(after);
  await waiting;
  await outcomes.settled(1);
  outcomes.unanswered();
  outcomes.known(after);
  await assert.rejects(outcomes.settled(5), notYet);
});
test('outcomes - who waits is refused at once where the link is lost', async () => {
  const outcomes = new Outcomes(systemClock);
  outcomes.unanswered();
  const waiting = outcomes.settled(60_000);
  outcomes.lost();
  await assert.rejects(waiting, notYet);
});
