import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../support/api.ts';
import type { Person } from '../support/api.ts';
import { freeze, memberLine, statusIs } from '../support/steps.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { useSite } from '../support/use-site.ts';

describe('engine hangs', () => {
  const site = useSite();
  interface Answer {
    readonly status: number;
    readonly body: Record<string, unknown>;
  }
  const ask = async (person: Person, method: string, path: string, body?: object): Promise<Answer> => {
    const reply = await fetch(`${site().base}${path}`, {
      method,
      headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const read = (await reply.json()) as Record<string, unknown>;
    return { status: reply.status, body: read };
  };

  test('engine hangs - queues, calls, agents and features: reads answer, no command succeeds, none is half done', async () => {
    await using phone = await site().phone('1003');
    await using other = await site().phone('1004');
    const [zoe, jose, boss] = await Promise.all(['1003', '1004', '1001'].map((who) => site().person(who)));
    await statusIs(zoe!, 'READY', '');
    await statusIs(jose!, 'READY', '');
    const talking = await phone.invite('1004');
    const rings = await other.incoming();
    rings.ring();
    await rings.answer();
    await talking.answered();
    const call = await until('the call', async () => {
      const { body } = await ask(zoe!, 'GET', '/api/v1/calls');
      const [first] = body['calls'] as { call_id: string }[];
      return first?.call_id;
    });
    const features = '/api/v1/extensions/1003/features';
    const before = await ask(zoe!, 'GET', features);
    assert.equal(before.status, 200, JSON.stringify(before.body));
    const reads = ['/api/v1/queues', '/api/v1/calls', '/api/v1/agents', '/readyz'];
    const commands: readonly (readonly [Person, string, string, object?])[] = [
      [boss!, 'POST', '/api/v1/queues/support/members', { extension: '1005' }],
      [boss!, 'DELETE', '/api/v1/queues/support/members/1004'],
      [zoe!, 'POST', `/api/v1/calls/${call}/hold`, {}],
      [jose!, 'POST', '/api/v1/calls', { to: '1005' }],
      [zoe!, 'PUT', features, { dnd_enabled: true }],
      [jose!, 'PUT', '/api/v1/extensions/1004/features', { dnd_enabled: false }],
      [boss!, 'POST', `/api/v1/calls/${call}/hangup`, {}],
    ];

    const pid = site().enginePid()!;
    await freeze(pid);
    try {
      const asked = commands.map(async ([person, method, path, body]) => ({
        what: `${method} ${path}`,
        ...(await ask(person, method, path, body)),
      }));
      const paused = zoe!.agent('pause', { reason: 'break' }).then(
        () => assert.fail('a pause succeeded'),
        (error: unknown) => error,
      );
      for (const path of reads) {
        const { status, body } = await ask(boss!, 'GET', path);
        assert.ok(status === 503 || status === 200, `${path}: ${status} ${JSON.stringify(body)}`);
      }
      for (const { what, status, body } of await Promise.all(asked)) {
        assert.ok(status === 503 || status === 504, `${what}: ${status} ${JSON.stringify(body)}`);
      }
      const error = await paused;
      assert.ok(error instanceof ApiError && (error.status === 503 || error.status === 504), String(error));
      await until(
        'reads marked stale',
        async () => (await ask(boss!, 'GET', '/api/v1/queues')).body['stale'] === true,
      );
      assert.equal((await ask(boss!, 'GET', '/readyz')).status, 503);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await site().ready();

    // An unconfirmed change is undone once the engine has reported its state.
    await until('the agent as before', async () => {
      const { is_paused } = await zoe!.agent('get_status');
      return !is_paused;
    });
    await until('the members as before', async () => {
      const lines = await Promise.all(['1004', '1005'].map((who) => memberLine(site(), 'support', who)));
      return lines.every((line) => line !== undefined && !line.includes('paused:'));
    });
    await until('do not disturb as before', async () => {
      const { body } = await ask(zoe!, 'GET', features);
      const kept = await site().engineCli('database get offhook/1003 dnd');
      return (
        (body['features'] as { dnd_enabled: boolean }).dnd_enabled === false &&
        !/Value: (1|yes|true)/.test(kept)
      );
    });
    await talking.hangup().catch(() => undefined);
    await until(
      'no call is left',
      async () => ((await ask(boss!, 'GET', '/api/v1/calls')).body['calls'] as unknown[]).length === 0,
    );
  });
});
