import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Blocked, findingOf } from './way.ts';

/** A way that fails by these faults, one at each try, and works then. */
function wayOf(...faults: ConstructorParameters<typeof Blocked>[0][]) {
  let tries = 0;
  return {
    tries: () => tries,
    work: async (): Promise<string> => {
      const fault = faults[tries];
      tries += 1;
      if (fault !== undefined) throw new Blocked(fault, {}, `${fault} at try ${tries}`);
      return 'registered';
    },
  };
}

test('doctor way - one without an answer is tried again, and the finding says that it was', async () => {
  const slow = wayOf('no_answer');
  const answered = await findingOf('tls', slow.work);
  assert.deepEqual(
    [answered.ok, answered.fault, answered.detail],
    [true, null, 'registered, at the second try: the first had no answer in 5 s'],
  );
  const blocked = await findingOf('tls', wayOf('no_answer', 'no_answer').work);
  assert.deepEqual([blocked.ok, blocked.fault, blocked.detail], [false, 'no_answer', 'no_answer at try 2']);
});

test('doctor way - what failed in another way is not tried again', async () => {
  const refused = wayOf('registration_refused');
  assert.equal((await findingOf('udp', refused.work)).fault, 'registration_refused');
  assert.equal(refused.tries(), 1);
  const fine = wayOf();
  assert.deepEqual((await findingOf('udp', fine.work)).detail, 'registered');
  assert.equal(fine.tries(), 1);
});
