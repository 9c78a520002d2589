/** Calls whose records the engine cannot write: the history completes them from the journal, or names the gap. */
import assert from 'node:assert/strict';
import { appendFile, lstat, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, test } from 'node:test';
import type { ConversationSummary } from '@offhook/contract/conversations.ts';
import { celFile } from '../../src/adapters/asterisk/conf/instance.ts';
import { loadInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { eventsOf } from '../support/call-steps.ts';
import { extensions } from '../support/company.ts';
import { checkInvariants } from '../support/conversation-invariants.ts';
import { rebuild } from '../support/conversation-rebuild.ts';
import { connect, lasting, talk, useStage } from '../support/conversation-stage.ts';
import type { Phone, PhoneCall } from '../support/phone.ts';
import { until } from '../support/until.ts';

const FULL = '/dev/full';
/** Seconds of talk on the clock of the phone that answered; more than asked for where the machine is slow. */
function spoken({ times: { answered, ended, holds } }: PhoneCall): number {
  const held = holds.reduce((sum, { from, to }) => sum + to - from, 0);
  return (ended - answered - held) / 1000;
}
/** A call that is answered, lasts and is hung up by its caller; as the other phone saw it. */
async function talkOnce(from: Phone, number: string, to: Phone, seconds: number): Promise<PhoneCall> {
  const [call, at] = await connect(from, number, to, 100);
  await talk(seconds, call, at);
  await call.hangup();
  await at.ended();
  return at;
}

describe('conversations: a disk that fills', () => {
  const people = extensions(2001, 2012);
  const stage = useStage({
    people,
    queues: [{ number: '500', agents: ['2012'] }],
  });
  const file = (): string => celFile(loadInstance(stage.site().dataDir)!);
  /** Makes every write of the engine's call records fail with ENOSPC, without root rights. */
  async function fill(target = FULL): Promise<void> {
    await mkdir(path.dirname(file()), { recursive: true });
    const there = await lstat(file()).catch(() => null);
    if (there !== null) await rename(file(), `${file()}.${Date.now()}`);
    await symlink(target, file());
  }
  const makeRoom = (): Promise<void> => rm(file());
  /** Waits for the only conversation of both, once it has ended. */
  async function summaryOf(
    a: string,
    b: string,
    call: PhoneCall,
    observed: string,
  ): Promise<ConversationSummary> {
    let seen: readonly ConversationSummary[] = [];
    const found = await until(
      `the conversation of ${a} with ${b}, by ${observed}`,
      async () => {
        seen = (await stage.of(a)).filter((c) => c.extensions.includes(b));
        return seen.length === 1 && seen[0]!.state !== 'open' && seen[0]!.observed === observed && seen[0];
      },
      { seen: () => seen.map((c) => [c.id, c.state, c.disposition, c.observed]) },
    );
    assert.equal(found.disposition, 'answered', found.id);
    const [talked, seconds] = [found.talk_time / 2, spoken(call)];
    assert.ok(Math.abs(talked - seconds) < 1.5, `${found.id}: talked ${talked} s of ${seconds}`);
    return found;
  }

  test('conversations - a day on a disk that fills twice: every answered call is in the history afterwards, or named as lost with its time', async () => {
    await using phones = await stage.phones(...people);
    const phone = (extension: string): Phone => phones.of(extension);
    const [caller, agent] = [phone('2009'), phone('2012')];
    const [before, atB] = await connect(phone('2001'), '2002', phone('2002'), 100);
    await talk(1, before, atB);
    await fill();
    // A call that continues, one within the outage, one of a queue, and one that outlasts the outage.
    await talk(1, before, atB);
    await before.hangup();
    await atB.ended();
    const within = await talkOnce(phone('2003'), '2004', phone('2004'), 2);
    const queued = await caller.invite('500');
    const offered = await agent.incoming();
    offered.ring();
    await lasting(300);
    await offered.answer();
    await queued.answered();
    await talk(2, queued, offered);
    await queued.hangup();
    await offered.ended();
    const [after, atF] = await connect(phone('2005'), '2006', phone('2006'), 100);
    await talk(1, after, atF);
    await makeRoom();
    await talk(1, after, atF);
    await after.hangup();
    await atF.ended();

    await summaryOf('2001', '2002', atB, 'journal');
    await summaryOf('2003', '2004', within, 'journal');
    await summaryOf('2005', '2006', atF, 'journal');
    const visit = await summaryOf('2009', '2012', offered, 'journal');
    assert.deepEqual(visit.agents, ['2012']);
    assert.deepEqual(visit.queues, ['q500']);
    const detail = await stage.detail(visit.id);
    assert.deepEqual(
      detail.queue_visits.map((v) => [v.queue, v.outcome, v.agent, v.offers.length]),
      [['q500', 'answered', '2012', 1]],
    );
    for (const extension of ['2001', '2003', '2005', '2009']) {
      for (const { id } of await stage.of(extension)) checkInvariants(await stage.detail(id));
      const rows = (await (await stage.site().person('1001')).history(`?extension=${extension}`)).calls;
      assert.equal(rows.length, 1, `rows of ${extension}`);
      assert.ok(rows[0]!.talk_seconds >= 1, `talk of ${extension}: ${rows[0]!.talk_seconds}`);
    }

    // The second outage happens while the service is stopped.
    const known = await stage.of('2001');
    await stage.site().kill('SIGKILL');
    await fill();
    const lostFrom = Date.now();
    await talkOnce(phone('2007'), '2008', phone('2008'), 1);
    const lostTo = Date.now();
    await makeRoom();
    // The engine uses numbers of channel ids for the hints of the queue's members.
    await stage.site().engineCli('dialplan reload');
    await stage.site().start();
    const last = await talkOnce(phone('2010'), '2011', phone('2011'), 1);
    await summaryOf('2010', '2011', last, 'call_records');
    assert.deepEqual(await stage.of('2007'), []);
    const gap = await until('history.gap', () => eventsOf(stage.site(), 'history.gap')[0], {
      seen: () => eventsOf(stage.site(), 'history.difference', 'history.gap'),
    });
    const named = gap.data as { from: string; to: string; channels: number };
    assert.ok(Date.parse(named.from) <= lostFrom && Date.parse(named.to) >= lostTo, JSON.stringify(named));
    assert.equal(named.channels, 2, JSON.stringify(named));
    const ready = (await (
      await fetch(`${stage.site().base}/readyz`, {
        headers: { authorization: `Bearer ${(await stage.site().person('1001')).token}` },
      })
    ).json()) as { details?: Record<string, string> };
    assert.match(ready.details?.['history'] ?? '', /: 4 conversations differ, 1 gaps, the newest /);
    // Each finding is published once.
    assert.deepEqual(await stage.of('2001'), known);
    assert.equal(eventsOf(stage.site(), 'history.gap').length, 1);
    assert.deepEqual(
      eventsOf(stage.site(), 'history.difference').map(({ data }) => data['kind']),
      ['no_end_in_records', 'not_in_records', 'not_in_records', 'talk_time'],
    );
  });

  test('conversations - late call records replace those of the journal, in the same conversation', async () => {
    const pipe = `${stage.site().dataDir}/late`;
    await promisify(execFile)('mkfifo', [pipe]);
    const keep = spawn('sh', ['-c', 'exec cat <> "$1" > "$2"', 'sh', pipe, `${pipe}.csv`], {
      stdio: 'ignore',
    });
    await fill(pipe);
    await using a = await stage.phone('2003');
    await using b = await stage.phone('2005');
    const [call, at] = await connect(a, '2005', b, 100);
    await talk(1, call, at);
    await at.hold();
    at.play('silence');
    await call.hears(50);
    await at.retrieve();
    await talk(1, call, at);
    await call.hangup();
    await at.ended();
    const first = await summaryOf('2003', '2005', at, 'journal');
    assert.ok(first.hold_time > 1, `held ${first.hold_time} s`);
    await makeRoom();
    await appendFile(file(), await readFile(`${pipe}.csv`));
    keep.kill();
    const amended = await until('the amendment', async () =>
      (await stage.of('2003')).find((c) => c.id === first.id && c.observed === 'call_records'),
    );
    assert.equal(amended.state, 'amended');
    assert.equal(amended.revision, 2);
    assert.equal(amended.ended_by, 'caller');
    assert.equal((await stage.of('2005')).filter((c) => c.extensions.includes('2003')).length, 1);
    checkInvariants(await stage.detail(first.id));
  });

  test('conversations - rebuilt conversations equal the live ones', async () => {
    const people = ['2001', '2003', '2005', '2009', '2010'];
    const before = await Promise.all(people.map((who) => stage.of(who)));
    await stage.site().stop();
    const { code, stdout, stderr } = await rebuild(stage.site());
    assert.equal(code, 0, stderr);
    assert.match(stdout, /; 0 of them changed/);
    await stage.site().start();
    assert.deepEqual(await Promise.all(people.map((who) => stage.of(who))), before);
    assert.ok((await readFile(file(), 'utf8')).length > 0);
  });
});
