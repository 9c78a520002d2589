import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryStore } from '../../../../test/conformance/store-temp.ts';
import { ADMIN, startProcess, startSite } from '../../../../test/support/applies-rig.ts';
import { FakeWorld } from '../../../../test/support/fake-engine-config.ts';
import { ServiceError } from '../../../core/errors.ts';
import { storedObject, withObjects } from '../model.ts';
import type { ObjectTables } from '../tables.ts';
import { PATIENCE } from './patience.ts';
import { pruneVersions } from './versions.ts';

const WANTED = { comment: null, overwrite_drift: false, restart: 'no' } as const;
const codeOf = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code;

const sorted = (files: ReadonlyMap<string, string>) => [...files].sort(([a], [b]) => (a < b ? -1 : 1));

test('applies - a change is written to disk, engine and a version, and published', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const before = rig.objects.version;
  await rig.rename('1003', 'Zoe Miller');
  const apply = await rig.applied({ comment: 'A new name' });
  assert.equal(apply.state, 'applied', JSON.stringify(apply));
  assert.deepEqual(apply.files, ['endpoints.conf']);
  assert.deepEqual(apply.reloaded, ['endpoints.conf']);
  assert.deepEqual(apply.objects, {
    count: 1,
    list: [{ kind: 'extension', key: '1003', change: 'changed' }],
  });
  assert.equal(apply.version, before + 1);
  assert.equal(rig.objects.version, before + 1);
  assert.equal(rig.liveName('1003'), 'Zoe Miller');
  assert.deepEqual(
    apply.steps.map((s) => s.step),
    ['validating', 'planning', 'proving', 'writing', 'reloading', 'verifying', 'committing'],
  );
  assert.equal(rig.followed(), 1);
  assert.equal(rig.holds(), 0, 'agents are let go again');
  assert.equal(rig.events.filter((e) => e.type === 'config.applied').length, 1);
  assert.deepEqual(
    rig.events.flatMap((e) => (e.type === 'config.progress' ? [e.data.apply.state] : [])),
    ['validating', 'planning', 'proving', 'writing', 'reloading', 'verifying', 'committing', 'applied'],
  );
  assert.deepEqual(
    rig.audited.map((a) => a.action),
    ['config.apply', 'config.applied'],
  );
  await rig.applies.close();
});

test('applies - each change of the draft is published with its author, until the close', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  await rig.rename('1004', 'Ada Miller');
  await rig.applies.close();
  await rig.rename('1005', 'Ben Miller');
  assert.deepEqual(
    rig.events.flatMap((e) => (e.type === 'config.draft_changed' ? [[e.subject, e.observed, e.data]] : [])),
    [1, 2].map((total) => ['config', 'live', { author: '1001', total }]),
  );
});

test('applies - mailboxes move with their owners, and return when the apply is rolled back', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const { id } = rig.objects.applied().of('extension').get('1012')!;
  assert.deepEqual(
    rig.moved.map((owners) => owners['1012']),
    [id],
    'at the start',
  );
  rig.moved.length = 0;
  await rig.remove('1012');
  rig.world.faults.set('reload', ['lie']);
  assert.equal((await rig.applied()).state, 'rolled_back');
  const moved = () => rig.moved.splice(0).map((owners) => owners['1012']);
  assert.deepEqual(moved(), [undefined, id]);
  assert.equal((await rig.applied()).state, 'applied');
  assert.deepEqual(moved(), [undefined]);
  await rig.applies.close();
});

test('applies - mailboxes move to another owner of the number, although no file changes', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  rig.moved.length = 0;
  const id = await rig.replace('1012');
  const { state, files } = await rig.applied();
  assert.deepEqual([state, files], ['applied', []]);
  assert.deepEqual(
    rig.moved.map((owners) => owners['1012']),
    [id],
  );
  await rig.applies.close();
});

test('applies - mailboxes that cannot be moved end an apply as before, and its rollback completes', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store, {
    mailboxes: () => Promise.reject(new Error('the record is damaged')),
  });
  const before = rig.liveName('1003');
  await rig.rename('1003', 'Zoe Miller');
  const { state, problems } = await rig.applied();
  assert.deepEqual([state, problems.map((p) => p.words)], ['rolled_back', ['the record is damaged']]);
  assert.deepEqual([rig.liveName('1003'), rig.diskName('1003')], [before, before]);
  await rig.applies.close();
});

test('applies - an apply that does not begin is audited as failed', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  await assert.rejects(
    rig.applies.apply(ADMIN, { ...WANTED, draft: 'older' }),
    codeOf('precondition_failed'),
  );
  assert.deepEqual(
    rig.audited.splice(0).map(({ action, outcome, detail }) => [action, outcome, detail!['said']]),
    [['config.apply', 'failed', 'the draft was changed meanwhile']],
  );
  await rig.applied();
  assert.equal(rig.audited[0]?.outcome, 'ok');
  await rig.applies.close();
});

test('applies - a rollback writes its files as former ones, so that chosen PINs of mailboxes are restored', async () => {
  await using temp = await temporaryStore();
  const world = new FakeWorld();
  const engine = world.config();
  const writes: (boolean | undefined)[] = [];
  const rig = await startProcess(world, temp.store, {
    engine: {
      ...engine,
      write: (files, back) => {
        if (files.size > 0) writes.push(back);
        return engine.write(files, back);
      },
    },
  });
  await rig.applies.start(false);
  world.boot();
  writes.length = 0;
  await rig.rename('1003', 'Zoe Miller');
  world.faults.set('reload', ['lie']);
  assert.equal((await rig.applied()).state, 'rolled_back');
  assert.deepEqual(writes, [undefined, true]);
  await rig.applies.close();
});

test('applies - a version ends what depends on the persons whom it disables or removes, and on no others', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const of = (extension: string) => rig.objects.applied().of('extension').get(extension)!;
  const active = async (extension: string, wanted: boolean) => {
    const { id, body } = of(extension);
    const object = storedObject(id, 'extension', { ...body, active: wanted });
    const change = { kind: 'extension', key: extension, object } as const;
    await rig.objects.setDraft(withObjects(rig.objects.draft(), [change]), { author: '1001', at: 1 });
  };
  const ended = async () => {
    assert.equal((await rig.applied()).state, 'applied');
    return rig.disabled.splice(0);
  };
  const [disabled, removed, replaced] = ['1003', '1012', '1004'].map((extension) => of(extension).id);
  await active('1003', false);
  assert.deepEqual(await ended(), [disabled]);
  await active('1003', true);
  await rig.rename('1004', 'Zoe Miller');
  assert.deepEqual(await ended(), []);
  await rig.remove('1012');
  await rig.replace('1004');
  assert.deepEqual(new Set(await ended()), new Set([removed, replaced]));
  await rig.applies.close();
});

test('applies - the snapshot has the running apply as in its events, and none afterwards', async () => {
  await using temp = await temporaryStore();
  const seen: (string | undefined)[] = [];
  const rig = await startSite(temp.store, {
    publish: (events) => {
      for (const { type } of events)
        if (type === 'config.progress') seen.push(rig.applies.snapshot().apply?.state);
    },
  });
  const before = rig.objects.version;
  await rig.rename('1003', 'Zoe Miller');
  await rig.applied();
  // Before the first event, it is not running.
  assert.deepEqual(seen.slice(1, 4), ['planning', 'proving', 'writing']);
  assert.deepEqual(rig.applies.snapshot(), { version: before + 1, apply: null });
  await rig.applies.close();
});

test('applies - an apply without changes proves, writes and reloads nothing, and reports it', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const before = rig.objects.version;
  const apply = await rig.applied();
  assert.equal(apply.state, 'applied');
  assert.match(apply.detail ?? '', /Nothing was different/);
  assert.deepEqual([apply.version, rig.objects.version], [null, before]);
  assert.deepEqual([rig.world.proofs, rig.world.touched], [0, []]);
  await rig.applies.close();
});

test('applies - a configuration that is invalid or fails the proof changes nothing', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  rig.world.proofProblems = [{ object: 'endpoint 1003', file: 'endpoints.conf', words: 'it says no' }];
  const files = new Map(rig.world.disk);
  const apply = await rig.applied();
  assert.equal(apply.state, 'rejected');
  assert.deepEqual(apply.problems, rig.world.proofProblems);
  assert.deepEqual(rig.world.disk, files);
  assert.deepEqual(rig.world.touched, []);
  await rig.applies.close();
});

for (const [name, fault, words] of [
  ['the engine refuses', 'refuses', /the engine says no/],
  ['the engine says success and does nothing', 'lie', /it holds another endpoints/],
  ['the engine takes half of it', 'half', /it holds another plan/],
  ['the engine never ends reading', 'hang', /did not finish within/],
] as const) {
  test(`applies - ${name}: files and engine are as before, and the operation reports it`, async () => {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    const before = new Map(rig.world.disk);
    await rig.rename('1003', 'Zoe Miller');
    const draft = rig.objects.draft();
    if (fault === 'half') {
      // A second file differs too.
      rig.world.extra = (site) => new Map([['plan.conf', site.extensions.map((e) => e.name).join()]]);
    }
    rig.world.faults.set('reload', [fault]);
    const apply = await rig.applied();
    assert.equal(apply.state, 'rolled_back', JSON.stringify(apply));
    assert.match(apply.problems.map((p) => p.words).join(), words);
    assert.deepEqual(sorted(rig.world.disk), sorted(before));
    assert.deepEqual(sorted(rig.world.live!), sorted(before));
    assert.equal(rig.followed(), 0);
    assert.equal(rig.holds(), 0);
    assert.equal(rig.objects.draft(), draft, 'the draft stays');
    assert.equal(rig.events.filter((e) => e.type === 'config.rolled_back').length, 1);
    const again = await rig.applied();
    assert.equal(again.state, 'applied', 'the next one is not hindered');
    await rig.applies.close();
  });
}

test('applies - a disk that is full at any file leads back to the former files', async () => {
  for (const file of ['endpoints.conf', 'plan.conf']) {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    const before = new Map(rig.world.disk);
    await rig.rename('1003', 'Zoe Miller');
    rig.world.extra = (site) => new Map([['plan.conf', site.extensions.map((e) => e.name).join()]]);
    rig.world.faults.set(`write ${file}`, ['disk_full']);
    const apply = await rig.applied();
    assert.equal(apply.state, 'rolled_back', JSON.stringify(apply));
    assert.match(apply.detail ?? '', /no space left/);
    assert.deepEqual(sorted(rig.world.disk), sorted(before));
    await rig.applies.close();
  }
});

test('applies - if the files cannot be restored, it fails with the remedy; the next start restores them', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  rig.world.faults.set('reload', ['lie']);
  const full = Array.from({ length: 20 }, () => 'disk_full' as const);
  const original = rig.world.point.bind(rig.world);
  let rolling = false;
  rig.world.point = (name) => {
    if (name === 'verified') rolling = true;
    if (rolling && name === 'write endpoints.conf') return full.pop();
    return original(name);
  };
  const apply = await rig.applied();
  assert.equal(apply.state, 'failed', JSON.stringify(apply));
  assert.match(apply.detail ?? '', /could not be put back.*Make room/);
  assert.equal(rig.diskName('1003'), 'Zoe Miller');
  assert.deepEqual((await rig.applies.drift()).files, [], 'our own file is nobody’s change by hand');
  rig.world.point = original;
  await rig.applies.close();
  rig.world.revive();
  const next = await startProcess(rig.world, temp.store);
  await next.applies.start(true);
  assert.equal((await next.applies.one(apply.id)).state, 'rolled_back');
  assert.notEqual(next.diskName('1003'), 'Zoe Miller');
  assert.deepEqual(sorted(rig.world.live!), sorted(rig.world.disk));
  await next.applies.close();
});

test('applies - a failed apply followed by a successful one is not rolled back at the next start', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  rig.world.faults.set('reload', ['lie']);
  const original = rig.world.point.bind(rig.world);
  let rolling = false;
  rig.world.point = (name) => {
    if (name === 'verified') rolling = true;
    return rolling && name === 'write endpoints.conf' ? 'disk_full' : original(name);
  };
  assert.equal((await rig.applied()).state, 'failed');
  rig.world.point = original;
  rig.world.boot();
  assert.equal((await rig.applied()).state, 'applied');
  await rig.applies.close();
  rig.world.revive();
  const next = await startProcess(rig.world, temp.store);
  await next.applies.start(true);
  assert.deepEqual([next.diskName('1003'), next.liveName('1003')], ['Zoe Miller', 'Zoe Miller']);
  await next.applies.close();
});

test('applies - an altered backup is not trusted: the applied version is written', async () => {
  for (const spoil of ['altered', 'missing'] as const) {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    const before = new Map(rig.world.disk);
    await rig.rename('1003', 'Zoe Miller');
    rig.world.faults.set('reload', ['lie']);
    const original = rig.world.point.bind(rig.world);
    rig.world.point = (name) => {
      if (name === 'verified' && spoil === 'altered') rig.world.backups.set('endpoints.conf', 'rubbish');
      if (name === 'verified' && spoil === 'missing') rig.world.backups.delete('endpoints.conf');
      return original(name);
    };
    const apply = await rig.applied();
    assert.equal(apply.state, 'rolled_back', JSON.stringify(apply));
    assert.deepEqual(sorted(rig.world.disk), sorted(before));
    assert.deepEqual((await rig.applies.drift()).files, []);
    await rig.applies.close();
  }
});

test('applies - an engine that dies between writing and reload starts with the new files, which is a success', async () => {
  await using temp = await temporaryStore();
  // However long the engine stays away on a busy machine.
  const rig = await startSite(temp.store, { patience: PATIENCE });
  await rig.rename('1003', 'Zoe Miller');
  rig.world.faults.set('reload', ['dies']);
  rig.world.away = 3;
  const apply = await rig.applied();
  assert.equal(apply.state, 'applied', JSON.stringify(apply));
  assert.equal(rig.liveName('1003'), 'Zoe Miller');
  await rig.applies.close();
});

test('applies - an engine that does not return has the former files', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store, { patience: { reload_ms: 100, verify_ms: 100, back_ms: 150 } });
  const before = new Map(rig.world.disk);
  await rig.rename('1003', 'Zoe Miller');
  rig.world.faults.set('reload', ['dies']);
  const apply = await rig.applied();
  assert.equal(apply.state, 'rolled_back', JSON.stringify(apply));
  assert.match(apply.detail ?? '', /does not run, and starts with them/);
  assert.deepEqual(sorted(rig.world.disk), sorted(before));
  await rig.applies.close();
});

test('applies - one at a time, also for two administrators; a changed draft is not applied', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const { draft } = await rig.applies.plan();
  await rig.rename('1003', 'Zoe Miller');
  await assert.rejects(rig.applies.apply(ADMIN, { ...WANTED, draft }), codeOf('precondition_failed'));
  const { draft: seen } = await rig.applies.plan();
  const both = await Promise.allSettled([
    rig.applies.apply(ADMIN, { ...WANTED, draft: seen }),
    rig.applies.apply(ADMIN, { ...WANTED, draft: seen }),
  ]);
  assert.deepEqual(
    both.map((r) => r.status).toSorted((a, b) => (a < b ? -1 : 1)),
    ['fulfilled', 'rejected'],
  );
  const { reason } = both.find((r) => r.status === 'rejected') as PromiseRejectedResult;
  assert.equal((reason as { code: string }).code, 'apply_running');
  await rig.applies.idle();
  assert.equal(rig.liveName('1003'), 'Zoe Miller');
  await rig.applies.close();
});

test('applies - can be cancelled until files are written', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  rig.world.faults.set('prove', ['hang']);
  const { id } = await rig.applies.apply(ADMIN, WANTED);
  const over = await rig.applies.cancel(ADMIN, id);
  assert.equal(over.state, 'cancelled');
  assert.match(over.detail ?? '', /nothing was touched/);
  await assert.rejects(rig.applies.cancel(ADMIN, id), codeOf('apply_over'));
  await assert.rejects(rig.applies.cancel(ADMIN, 999), codeOf('not_found'));
  assert.notEqual(rig.diskName('1003'), 'Zoe Miller');
  await rig.applies.close();
});

test('applies - twenty in a row, each with its version; later changes of the draft stay in it', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const first = rig.objects.version;
  for (let n = 1; n <= 20; n += 1) {
    await rig.rename('1003', `Zoe ${n}`);
    const running = rig.applied({ comment: `Nr ${n}` });
    if (n === 20) await rig.rename('1004', 'Later');
    assert.equal((await running).state, 'applied');
    assert.equal(rig.liveName('1003'), `Zoe ${n}`);
  }
  assert.equal(rig.objects.version, first + 20);
  assert.equal(rig.objects.draft().of('extension').get('1004')?.body.name, 'Later');
  const { versions } = await rig.applies.versions({ limit: 5 });
  assert.deepEqual(
    versions.map((v) => v.comment),
    ['Nr 20', 'Nr 19', 'Nr 18', 'Nr 17', 'Nr 16'],
  );
  await rig.applies.close();
});

test('applies - a file changed by hand is reported, blocks an apply, and survives a start until it is overwritten on request', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  const before = rig.world.disk.get('queues.conf')!;
  rig.world.disk.set('queues.conf', 'by hand');
  await assert.rejects(rig.applies.apply(ADMIN, WANTED), codeOf('config_drift'));
  const published = rig.events.filter((e) => e.type === 'config.drift');
  assert.equal(published.length, 1, 'once, not with each look');
  await rig.applies.drift();
  assert.equal(rig.events.filter((e) => e.type === 'config.drift').length, 1);
  await rig.applies.close();
  rig.world.revive();
  const next = await startProcess(rig.world, temp.store);
  await next.applies.start(false);
  rig.world.boot();
  assert.equal(rig.world.live!.get('queues.conf'), 'by hand', 'the engine runs with what is there');
  const { files } = await next.applies.drift();
  assert.deepEqual(
    files.map((f) => [f.name, f.hand_written, f.missing]),
    [['queues.conf', false, false]],
  );
  assert.match(files[0]!.diff!, /^\+by hand$/m);
  const done = await next.applied({ overwrite_drift: true });
  assert.equal(done.state, 'applied', JSON.stringify(done));
  assert.equal(rig.world.live!.get('queues.conf'), before);
  assert.deepEqual((await next.applies.drift()).files, []);
  await next.applies.close();
});

test('applies - a hand-written file blocks nothing, is reported, and is proven and read with the next apply', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  rig.world.beside.set('custom/queues.conf', '[mine]');
  assert.deepEqual(
    (await rig.applies.drift()).files.map((f) => [f.name, f.hand_written]),
    [['custom/queues.conf', true]],
  );
  const done = await rig.applied();
  assert.equal(done.state, 'applied', JSON.stringify(done));
  assert.deepEqual(done.reloaded, ['custom/queues.conf']);
  assert.equal(rig.world.proofs, 1);
  assert.equal(rig.world.beside.get('custom/queues.conf'), '[mine]');
  assert.deepEqual((await rig.applies.drift()).files, []);
  rig.world.beside.delete('custom/queues.conf');
  assert.deepEqual((await rig.applied()).reloaded, ['custom/queues.conf']);
  assert.deepEqual((await rig.applies.drift()).files, []);
  assert.deepEqual((await rig.applied()).reloaded, []);
  await rig.applies.close();
});

test('applies - a file changed by hand during the proof is not overwritten, nor accepted unproven', async () => {
  for (const change of [
    (world: FakeWorld) => world.disk.set('queues.conf', 'by hand'),
    (world: FakeWorld) => world.disk.set('endpoints.conf', 'by hand'),
    (world: FakeWorld) => world.beside.set('custom/queues.conf', '[broken'),
  ]) {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    await rig.rename('1003', 'Zoe Miller');
    const original = rig.world.point.bind(rig.world);
    rig.world.point = (name) => {
      if (name === 'proven') change(rig.world);
      return original(name);
    };
    const apply = await rig.applied();
    assert.equal(apply.state, 'rejected', JSON.stringify(apply));
    assert.match(apply.detail ?? '', /changed by hand while it was tried\. Nothing was touched/);
    assert.deepEqual(rig.world.touched, []);
    assert.equal((await rig.applies.drift()).files.length, 1);
    await rig.applies.close();
  }
});

test('applies - files for a new start are written, named and not reloaded; the restart is requested on demand', async () => {
  for (const restart of ['no', 'when_convenient'] as const) {
    await using temp = await temporaryStore();
    const rig = await startSite(temp.store);
    rig.world.extra = () => new Map([['fixed.conf', 'another']]);
    const done = await rig.applied({ restart });
    assert.equal(done.state, 'applied', JSON.stringify(done));
    assert.deepEqual([done.restart.files, done.reloaded], [['fixed.conf'], []]);
    assert.equal(done.restart.asked, restart === 'when_convenient');
    assert.equal(rig.restarts(), restart === 'no' ? 0 : 1);
    assert.equal(rig.world.disk.get('fixed.conf'), 'another');
    await rig.applies.close();
  }
});

test('applies - what the engine lacks is a finding of the plan, and an apply is rejected before the proof', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  await rig.rename('1003', 'Zoe Miller');
  const problem = { object: 'language tr', file: null, words: 'there are no sounds for this language' };
  rig.world.lacking = [problem];
  assert.deepEqual((await rig.applies.plan()).findings, [problem]);
  const done = await rig.applied();
  assert.deepEqual([done.state, done.problems], ['rejected', [problem]]);
  assert.equal(rig.world.proofs, 0);
  assert.deepEqual(rig.world.touched, []);
  rig.world.lacking = [];
  assert.deepEqual((await rig.applies.plan()).findings, []);
  assert.equal((await rig.applied()).state, 'applied');
  await rig.applies.close();
});

test('applies - versions are kept up to a limit, and a deleted one is not found', async () => {
  await using temp = await temporaryStore();
  const rig = await startSite(temp.store);
  for (let n = 1; n <= 5; n += 1) {
    await rig.rename('1003', `Zoe ${n}`);
    await rig.applied();
  }
  const newest = rig.objects.version;
  const kept = await rig.applies.object(newest - 1, 'extensions', '1003');
  assert.equal(kept.object['name'], 'Zoe 4');
  assert.equal('sip_password' in kept.object, false);
  await temp.store.transaction<ObjectTables, void>((trx) => pruneVersions(trx, newest, 2));
  assert.equal((await rig.applies.object(newest - 1, 'extensions', '1003')).object['name'], 'Zoe 4');
  await assert.rejects(rig.applies.version(newest - 2), codeOf('not_found'));
  const { objects } = await rig.applies.version(newest);
  assert.deepEqual(
    objects.list.map((o) => o.fields),
    [[{ field: 'name', secret: false, before: 'Zoe 4', after: 'Zoe 5' }]],
  );
  await rig.applies.close();
});
