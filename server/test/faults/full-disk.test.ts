/** The whole data folder, with the engine's spool and logs, on a small file system that really fills. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { eventsOf } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { checkInvariants } from '../support/conversation-invariants.ts';
import { connect, talk, useStage } from '../support/conversation-stage.ts';
import { until } from '../support/until.ts';

const DISK = process.env['FULL_DISK_TEST'];
const MEBIBYTES = 160;
const NAMESPACES = [
  '--user',
  '--map-root-user',
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
];

if (DISK === undefined) {
  // A user namespace permits mounts; processes in its process namespace end with it.
  test('full disk - in namespaces with a file system of their own', async () => {
    const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'full-'));
    const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
    const mount = `mount -t tmpfs -o size=${MEBIBYTES}m tmpfs "$TMPDIR" && exec "$@"`;
    const inside = spawn(
      'unshare',
      [
        ...NAMESPACES,
        'sh',
        '-c',
        mount,
        'sh',
        process.execPath,
        ...process.execArgv,
        fileURLToPath(import.meta.url),
      ],
      {
        env: { ...env, TMPDIR: disk, FULL_DISK_TEST: disk },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const said: string[] = [];
    for (const stream of [inside.stdout, inside.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => said.push(text));
    }
    try {
      const [code] = (await once(inside, 'close')) as [number | null];
      assert.equal(code, 0, said.join(''));
      assert.match(said.join(''), /pass 1\b/);
    } finally {
      fs.rmdirSync(disk);
    }
  });
} else {
  describe('full disk', () => {
    const people = extensions(2001, 2012);
    const stage = useStage({ people, queues: [{ number: '500', agents: ['2012'] }] });
    const ballast = path.join(DISK, 'ballast');
    /** Fills the disk to the last byte. */
    const fill = (): void => {
      const file = fs.openSync(ballast, 'w');
      try {
        for (let size = 1 << 20; size > 0;) {
          try {
            fs.writeSync(file, Buffer.alloc(size));
          } catch (error) {
            assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
            size >>= 1;
          }
        }
      } finally {
        fs.closeSync(file);
      }
    };
    const makeRoom = (): void => fs.rmSync(ballast);
    const readyz = async (): Promise<{ status: number; details: Record<string, string> }> => {
      const { token } = await stage.site().person('1001');
      const reply = await fetch(`${stage.site().base}/readyz`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { details = {} } = (await reply.json()) as { details?: Record<string, string> };
      return { status: reply.status, details };
    };
    const note = async (text: string): Promise<number> => {
      const { token } = await stage.site().person('1001');
      const reply = await fetch(`${stage.site().base}/api/v1/presence`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ personal: 'not_set', note: text, expires_at: null }),
      });
      return reply.status;
    };

    test('full disk - a day on which it fills twice: every answered call is in the history or named as lost, and all parts recover by themselves', async () => {
      await using phones = await stage.phones(...people);
      const { pid } = stage.site();
      const calls: { from: string; to: string; at: number; seconds: number }[] = [];
      const begin = async (from: string, to: string) => {
        const played = { from, to, at: Date.now(), seconds: 0 };
        calls.push(played);
        const [call, at] = await connect(phones.of(from), to, phones.of(to), 100);
        await talk(1, call, at);
        return async (): Promise<void> => {
          await talk(1, call, at);
          await call.hangup();
          await at.ended();
          played.seconds = (call.times.ended - call.times.answered) / 1_000;
        };
      };
      const talkOnce = async (from: string, to: string): Promise<void> => (await begin(from, to))();
      const recovers = async (): Promise<void> => {
        makeRoom();
        await stage.site().ready();
        assert.equal(await note('room'), 200);
      };

      const across = await begin('2001', '2002');
      fill();
      await across();
      await talkOnce('2003', '2004');
      const full = await until('health to report it', async () => {
        const found = await readyz();
        return found.status === 503 && found;
      });
      assert.match(full.details['disk'] ?? '', /^0 MiB free|: 0 MiB free/);
      assert.equal(await note('full'), 503);
      await recovers();

      await talkOnce('2005', '2006');
      fill();
      const outlasting = await begin('2007', '2008');
      await talkOnce('2009', '2010');
      await recovers();
      await outlasting();
      await talkOnce('2011', '2012');
      assert.equal(stage.site().pid, pid, 'the service went on');

      for (const { from, to, at, seconds } of calls) {
        let seen: readonly ConversationSummary[] = [];
        await until(
          `the call of ${from} with ${to} in the history, or named as lost`,
          async () => {
            seen = (await stage.of(from)).filter((c) => c.extensions.includes(to));
            const lost = eventsOf(stage.site(), 'history.gap').some(({ data }) => {
              const gap = data as { from: string; to: string };
              return Date.parse(gap.from) <= at && at <= Date.parse(gap.to);
            });
            // Built from cut call records first, and amended from the journal 10 s after its end.
            return lost || (seen.length === 1 && seen[0]!.disposition === 'answered');
          },
          { seen: () => seen.map((c) => [c.id, c.state, c.disposition, c.observed]) },
        );
        for (const { id, talk_seconds } of seen) {
          assert.ok(
            Math.abs(talk_seconds - seconds) < 1.5,
            `${from} with ${to}: ${talk_seconds} s of ${seconds}`,
          );
          checkInvariants(await stage.detail(id));
        }
      }
    });
  });
}
