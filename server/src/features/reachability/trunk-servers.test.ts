import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import { createVirtualClock } from '../../adapters/memory/virtual-clock.ts';
import { silent } from '../../core/log.ts';
import type { ServerProof, TrunkServer } from '../../ports/trunk-servers.ts';
import { TrunkServerLookup } from './trunk-servers.ts';

const trunk = (host = 'carrier.example.com', enabled = true) => ({
  name: 'north',
  title: 'North',
  host,
  port: 5060,
  transport: 'udp' as 'udp' | 'tls',
  srv: true,
  enabled,
});
const at = (...hosts: string[]): TrunkServer[] =>
  hosts.map((host, i) => ({ host, port: 5060, addresses: [`192.0.2.${i + 1}`] }));

/** A site with one trunk, whose records the test sets. */
async function follow(how: { readonly kept?: string } = {}) {
  const clock = createVirtualClock();
  const applied: string[] = [];
  const state = {
    trunk: trunk(),
    records: at('one', 'two') as TrunkServer[] | Error,
    kept: how.kept ?? null,
    fails: false,
    asked: 0,
    proofs: {} as Record<string, ServerProof>,
    proven: 0,
  };
  const servers = (lookup: TrunkServerLookup): string =>
    (lookup.found([state.trunk]).get('north') ?? []).map(({ host }) => host).join(' ');
  const lookup = await TrunkServerLookup.open({
    trunks: () => [state.trunk],
    follows: ({ srv }) => srv,
    up: () => true,
    find: () => {
      state.asked += 1;
      return state.records instanceof Error ? Promise.reject(state.records) : Promise.resolve(state.records);
    },
    prove: (_domain, { host }) => {
      state.proven += 1;
      return Promise.resolve(state.proofs[host] ?? { vouched: true, fault: null });
    },
    renew: () => {
      applied.push(servers(lookup));
      return Promise.resolve({
        state: state.fails ? 'rolled_back' : 'applied',
        detail: state.fails ? 'the engine refused it' : null,
      } as ConfigApply);
    },
    clock,
    log: silent,
    kept: {
      read: () => Promise.resolve(state.kept),
      write: (text) => Promise.resolve(void (state.kept = text)),
    },
  });
  lookup.begin();
  await clock.advance(0);
  return {
    state,
    clock,
    applied,
    servers: () => servers(lookup),
    finding: () => lookup.finding(),
    follow() {
      lookup.follow();
      return clock.advance(0);
    },
    [Symbol.asyncDispose]: () => lookup[Symbol.asyncDispose](),
  };
}

test('trunk servers - found ones are brought to the engine once, a change of the records again', async () => {
  await using site = await follow();
  assert.deepEqual(site.applied, ['one two']);
  await site.clock.advance(30_000);
  assert.deepEqual([site.applied, site.state.asked], [['one two'], 2]);
  site.state.records = at('two', 'one');
  await site.clock.advance(30_000);
  assert.deepEqual(site.applied, ['one two', 'two one']);
  assert.deepEqual(site.finding(), { ok: true, detail: 'North: two:5060, one:5060' });
});

test('trunk servers - without an answer the known ones stay, and the check names the fault', async () => {
  await using site = await follow();
  site.state.records = new Error('_sip._udp.carrier.example.com: queryA ETIMEOUT');
  await site.clock.advance(30_000);
  assert.equal(site.servers(), 'one two');
  const { ok, detail } = site.finding();
  assert.deepEqual(
    [ok, detail],
    [false, 'North: _sip._udp.carrier.example.com: queryA ETIMEOUT; in use: one:5060, two:5060'],
  );
  site.state.records = at('one', 'two');
  await site.clock.advance(30_000);
  assert.equal(site.finding().ok, true);
  assert.equal(site.applied.length, 1);
});

test('trunk servers - records that change at every look change the engine ever more rarely', async () => {
  await using site = await follow();
  for (let i = 0; i < 120; i += 1) {
    site.state.records = at(`host${i}`);
    await site.clock.advance(30_000);
  }
  assert.ok(site.applied.length <= 8, `${site.applied.length} applies in an hour`);
  assert.match(site.finding().detail, /its records change too often: the next change is possible in \d+ s/);
});

test('trunk servers - what the engine refuses is not used, and tried again', async () => {
  await using site = await follow();
  site.state.fails = true;
  site.state.records = at('three');
  await site.clock.advance(30_000);
  assert.equal(site.servers(), 'one two');
  assert.match(
    site.finding().detail,
    /three:5060 not brought to the engine: the engine refused it; in use: one:5060/,
  );
  site.state.fails = false;
  await site.clock.advance(60_000);
  assert.equal(site.servers(), 'three');
});

test('trunk servers - those of another domain are never used, and a restart knows the last ones', async () => {
  await using site = await follow();
  const { kept } = site.state;
  site.state.trunk = trunk('other.example.com');
  assert.equal(site.servers(), '', 'before the first answer about it');
  site.state.records = at('other');
  await site.follow();
  assert.equal(site.servers(), 'other');
  await using again = await follow({ kept: kept! });
  assert.deepEqual([again.servers(), again.applied], ['one two', []]);
  await using broken = await follow({
    kept: '[["north",{"asked":"udp carrier.example.com:5060","servers":[{"host":1}]}]]',
  });
  assert.deepEqual(broken.applied, ['one two']);
});

test('trunk servers - one that the domain does not vouch for is left out and named, also with a fault of its name', async () => {
  await using site = await follow();
  site.state.trunk = { ...trunk(), transport: 'tls' };
  site.state.proofs = { two: { vouched: false, fault: 'two: its certificate is for x, not for the domain' } };
  await site.follow();
  assert.deepEqual([site.servers(), site.applied.at(-1)], ['one', 'one']);
  assert.deepEqual(site.finding(), {
    ok: false,
    detail: 'North: two: its certificate is for x, not for the domain; in use: one:5060',
  });
  await site.clock.advance(60_000);
  site.state.proofs = { one: { vouched: true, fault: 'one: its certificate is for y, not for one' } };
  await site.follow();
  assert.deepEqual([site.servers(), site.finding().ok], ['one two', false], 'the engine checks its name');
  site.state.proofs = {};
  await site.follow();
  assert.deepEqual(site.finding(), { ok: true, detail: 'North: one:5060, two:5060' });
});

test('trunk servers - one that was vouched for stays while it cannot be reached; a new one does not come', async () => {
  await using site = await follow();
  site.state.trunk = { ...trunk(), transport: 'tls' };
  await site.follow();
  const away: ServerProof = { vouched: null, fault: 'not reached' };
  site.state.proofs = { one: away, three: away };
  site.state.records = at('one', 'two', 'three');
  await site.follow();
  assert.equal(site.servers(), 'one two');
  const { proven } = site.state;
  await site.clock.advance(30_000);
  assert.equal(site.state.proven - proven, 2, 'a faultless certificate is not looked at again at once');
});
