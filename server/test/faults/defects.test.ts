import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { REPOSITORY } from '../support/sources.ts';
import { until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('defects', () => {
  const site = useSite({ main: path.join(REPOSITORY, 'server/test/support/defect-main.ts') });

  for (const [what, signal, said, origin] of [
    ['a rejection that nobody handles', 'SIGWINCH', 'a defect for the test', 'unhandledRejection'],
    ['an error that nobody catches', 'SIGURG', 'a defect in a timer', 'uncaughtException'],
  ] as const) {
    test(`defects - ${what}: one line in the log, an orderly end with an exit code, the engine keeps running and is adopted`, async () => {
      const engine = site().enginePid();
      assert.ok(engine !== null);
      process.kill(site().pid!, signal);
      await until('the end of the service', () => site().pid === null);
      assert.equal(site().exitCode, 70);
      const lines = readFileSync(path.join(site().dataDir, 'logs', 'offhook.log'), 'utf8')
        .trim()
        .split('\n')
        .map(
          (line) =>
            JSON.parse(line) as { level: number; origin?: string; err?: { stack: string }; msg: string },
        );
      const fault = lines.filter((line) => line.level === 60 && line.err?.stack.includes(said));
      assert.equal(fault.length, 1);
      assert.equal(fault[0]!.origin, origin);
      assert.ok(
        lines.some((line) => line.msg === 'stopping'),
        'it ended in order',
      );
      assert.equal(site().enginePid(), engine, 'calls go on');
      await site().start();
      assert.equal(site().enginePid(), engine);
    });
  }

  test('defects - the unit restarts a service that ended with a fault', () => {
    const unit = readFileSync(path.join(REPOSITORY, 'packaging/offhook.service'), 'utf8');
    assert.match(unit, /^Restart=on-failure$/m);
    assert.match(unit, /^KillMode=process$/m);
  });
});
