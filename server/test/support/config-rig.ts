import type { TestContext } from 'node:test';
import { createVirtualClock } from '../../src/adapters/memory/virtual-clock.ts';
import { silent } from '../../src/core/log.ts';
import type { KeyRights } from '../../src/rights/rights.ts';
import { createAudit } from '../../src/features/audit/service.ts';
import { createCredentials } from '../../src/features/pbx-config/credentials.ts';
import { Draft } from '../../src/features/pbx-config/draft.ts';
import { FEATURE_CODES } from '../../src/features/feature-codes/feature-codes.ts';
import { routeTestOperations } from '../../src/features/pbx-config/route-test-operations.ts';
import type { ExtensionFeatures } from '../../src/ports/engine-state.ts';
import { openObjects } from '../../src/features/pbx-config/objects.ts';
import type { ObjectStore } from '../../src/features/pbx-config/objects.ts';
import { configOperations } from '../../src/features/pbx-config/operations.ts';
import { putObjects } from '../../src/features/pbx-config/put.ts';
import type { Objects } from '../../src/features/pbx-config/put.ts';
import { allKindOperations } from '../../src/features/pbx-config/kind-operations.ts';
import { seed } from '../../src/features/pbx-config/seed.ts';
import { migrations } from '../../src/features/pbx-config/tables.ts';
import { addOperations } from '../../src/http/operations.ts';
import type { App } from '../../src/ports/http.ts';
import { temporaryStore } from '../conformance/store-temp.ts';
import { authenticatorWithKeys, hostFixture } from './host-fixture.ts';

export interface Asked {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests check the members they read
  readonly body: any;
  readonly text: string;
}
/** The configuration API on the demo company, with a database and a host, without an engine. */
export async function configRig(
  t: TestContext,
  more: {
    readonly keys?: Record<string, Partial<KeyRights>>;
    readonly objects?: Objects;
    /** Only an administrator instead of the demo company. */
    readonly empty?: boolean;
    /** More routes. */
    readonly routes?: (app: App, objects: ObjectStore) => void;
  } = {},
) {
  const temp = await temporaryStore();
  await temp.store.migrate('pbx-config', migrations);
  await seed(temp.store, { empty: more.empty ?? false });
  if (more.objects !== undefined) await putObjects(temp.store, more.objects);
  const clock = createVirtualClock();
  const audit = await createAudit(temp.store, clock, silent);
  const objects = await openObjects(temp.store);
  const passwords = new Map<number, string>();
  const codes = new Map([
    ['login', '*22'],
    ['logout', '*23'],
  ]);
  const draft = new Draft({ objects, audit, clock, house: { codes } });
  const credentials = createCredentials({
    draft,
    audit,
    signIn: {
      setPassword: async (id, password) => void passwords.set(id, password),
      newPassword: () => 'made-up-password',
    },
  });
  const host = await hostFixture({ authenticator: authenticatorWithKeys(more.keys) });
  const features = new Map<string, ExtensionFeatures>();
  const commands = addOperations(host.app, [
    configOperations({ draft, credentials }),
    ...allKindOperations(draft),
    routeTestOperations({
      objects,
      codes: FEATURE_CODES,
      live: { features },
      clock,
      zone: 'Europe/Istanbul',
    }),
  ]);
  more.routes?.(host.app, objects);
  await host.app.ready();
  t.after(async () => {
    await host.close();
    await audit.close();
    await temp[Symbol.asyncDispose]();
  });
  async function ask(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    { as = 'token-admin', headers = {} }: Asked = {},
  ): Promise<Answer> {
    const reply = await host.app.inject({
      method,
      url: `/api/v1/config/${path}`,
      headers: {
        authorization: `Bearer ${as}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const json = String(reply.headers['content-type']).includes('json') && reply.payload !== '';
    return {
      status: reply.statusCode,
      headers: reply.headers,
      body: json ? reply.json() : null,
      text: reply.payload,
    };
  }
  const { store, folder } = temp;
  return { ask, host, objects, draft, audit, clock, commands, passwords, features, store, folder };
}
export type ConfigRig = Awaited<ReturnType<typeof configRig>>;
