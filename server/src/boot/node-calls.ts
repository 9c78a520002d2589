/** Requests of web nodes and standbys to the leading node, in addition to the forwarded requests of clients. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { checkJson } from '../core/json-check.ts';
import { ServiceError } from '../core/errors.ts';
import { seal } from '../core/seal.ts';
import type { Stream } from '../delivery/stream.ts';
import { PROOF_HEADER, proven } from '../http/node-proof.ts';
import type { TlsPair } from '../http/secure.ts';
import type { Ordered } from '../ports/certificates.ts';
import type { App, Authenticator, Caller } from '../ports/http.ts';
import type { Commands } from '../ports/operations.ts';
import type { Credentials } from '../ports/stream.ts';

export const CALL_PATH = '/api/nodes/call';
const MAX_CALL = 4 * 1024 * 1024;

/**
 * A request of a web node. Its signature proves that the node belongs to this site, so its information about callers is accepted.
 */
export type NodeCall =
  | { readonly op: 'authenticate'; readonly token: string }
  | { readonly op: 'redeem'; readonly ticket: string }
  | { readonly op: 'use'; readonly caller: Caller }
  | {
      readonly op: 'command';
      readonly caller: Caller;
      readonly ip: string | null;
      readonly action: string;
      readonly data: unknown;
      readonly key: string | undefined;
    }
  /** `has`: hash of the certificate that the asking node shows; empty for none. */
  | { readonly op: 'certificate'; readonly has: string }
  /** The same of the certificate that this node ordered by ACME, with the inputs of the order. */
  | { readonly op: 'ordered'; readonly has: string }
  | { readonly op: 'view'; readonly wanted: Parameters<Stream['view']>[0] };
export interface CallerAnswer {
  readonly caller: Caller | null;
  /** True for a person who must set up a second factor first. */
  readonly lacks: boolean;
}
export interface CertificateAnswer {
  /** The pair as JSON, encrypted for the nodes of the site, in base64; null where the asking node has it, or there is none. */
  readonly sealed: string | null;
}
export const certificateHash = (pem: string): string => hash('sha256', pem, 'base64url');
/** The signed parts of a request between nodes. */
export const partsOfCall = (payload: string): string[] => ['call', hash('sha256', payload, 'base64url')];

export interface NodeCallsDeps {
  readonly secret: string;
  readonly stream: Pick<Stream, 'redeem' | 'fresh' | 'view'>;
  readonly commands: Commands;
  readonly authenticator: Authenticator;
  readonly lacksFactor: (caller: Caller) => boolean;
  readonly use: Credentials['use'];
  /** Current rights of an API key; null for one that was revoked or expired. */
  readonly keyRights: (id: number) => Caller['key'];
  /** The certificate of this node. */
  readonly pair: () => Promise<TlsPair>;
  /** The one that this node ordered by ACME; null for none. */
  readonly ordered: () => Promise<Ordered | null>;
  /** Encrypts them for the other nodes. */
  readonly sealingKey: Buffer;
  readonly journal: { readonly epoch: string };
  readonly seq: () => number;
}

/** Route of the leading node for web nodes and standbys; a caller without the secret of the site gets 404. */
export function nodeCallRoutes(app: App, deps: NodeCallsDeps): void {
  const { secret, stream, commands, authenticator, lacksFactor, use, keyRights, journal, seq } = deps;
  const callerNow = (caller: Caller): Caller => {
    const key = caller.key === null ? null : keyRights(caller.key.id);
    const now = caller.key !== null && key === null ? null : stream.fresh({ ...caller, key });
    if (now === null) throw new ServiceError('not_authenticated', 'sign in first');
    return now;
  };
  const answer = async (call: NodeCall): Promise<object> => {
    switch (call.op) {
      case 'authenticate': {
        const caller = await authenticator.authenticate(call.token);
        return { caller, lacks: caller !== null && lacksFactor(caller) } satisfies CallerAnswer;
      }
      case 'redeem':
        return { caller: stream.redeem(call.ticket), lacks: false } satisfies CallerAnswer;
      case 'use':
        return { until: await use(call.caller) };
      case 'command': {
        const { caller, ip, action, data, key } = call;
        if ((await use(caller)) === null) throw new ServiceError('not_authenticated', 'sign in first');
        const result = await commands.run({ caller: callerNow(caller), ip }, action, data, key);
        return { result, seq: seq() };
      }
      case 'certificate':
      case 'ordered': {
        const found = call.op === 'certificate' ? await deps.pair() : await deps.ordered();
        const has = found === null || certificateHash(found.certificate) === call.has;
        const sealed = has ? null : seal(deps.sealingKey, Buffer.from(JSON.stringify(found)));
        return { sealed: sealed?.toString('base64') ?? null } satisfies CertificateAnswer;
      }
      case 'view':
        return { epoch: journal.epoch, ...(await stream.view(call.wanted)) };
    }
  };
  app.route({
    method: 'POST',
    url: CALL_PATH,
    config: { level: 'public', bodyBytes: MAX_CALL },
    schema: { hide: true, body: z.strictObject({ payload: z.string() }) },
    async handler(request, reply) {
      const { payload } = request.body as { payload: string };
      if (proven(secret, request.raw.headers[PROOF_HEADER], partsOfCall(payload)) === null)
        throw new ServiceError(
          'not_found',
          'there is no such path; the paths are listed in /api/v1/openapi.json',
        );
      checkJson(payload);
      return reply.send(await answer(JSON.parse(payload) as NodeCall));
    },
  });
}
