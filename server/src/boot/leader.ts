/** The leading node, as a web node or a standby finds and asks it. */
import type { ErrorCode } from '@offhook/contract/errors.ts';
import { ERRORS } from '@offhook/contract/errors.ts';
import { ServiceError } from '../core/errors.ts';
import { unseal } from '../core/seal.ts';
import { noLeader } from '../http/forward.ts';
import { PROOF_HEADER, prove } from '../http/node-proof.ts';
import type { SeenNode } from '../ports/site-nodes.ts';
import { CALL_PATH, certificateHash, partsOfCall } from './node-calls.ts';
import type { CertificateAnswer, NodeCall } from './node-calls.ts';
import { SILENT_SECONDS } from '../features/nodes/state.ts';

const CALL_MS = 5_000;
/** Commands wait for the engine. */
const COMMAND_MS = 30_000;

export class Leader {
  readonly #secret: string;
  #node: SeenNode | null = null;
  #nodes: readonly SeenNode[] = [];
  constructor(secret: string) {
    this.#secret = secret;
  }
  /** Called with the address of the leading node each time it was seen. */
  onSeen: (url: string) => void = () => {};
  /** Stores the nodes as last seen. A silent leading node gets no requests, because it may be frozen. */
  seen(nodes: readonly SeenNode[]): void {
    this.#nodes = nodes;
    this.#node =
      nodes.find((node) => node.holds && node.role === 'active' && node.seconds <= SILENT_SECONDS) ?? null;
    if (this.#node !== null) this.onSeen(this.#node.url);
  }
  /** Null while no node is known to lead the site. */
  url(): string | null {
    return this.#node?.url ?? null;
  }
  get node(): SeenNode | null {
    return this.#node;
  }
  /** All nodes of the site, as they were last seen. */
  get nodes(): readonly SeenNode[] {
    return this.#nodes;
  }
  /**
   * Asks the leading node. Rejects with its own error, with `node_not_active` where it gave no answer, and with `node_no_answer`
   * for a command that it may have carried out.
   */
  async call(call: NodeCall): Promise<unknown> {
    const address = this.url();
    if (address === null) throw noLeader();
    const payload = JSON.stringify(call);
    const command = call.op === 'command';
    let response: Response;
    try {
      response = await fetch(new URL(CALL_PATH, address), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          [PROOF_HEADER]: prove(this.#secret, {}, partsOfCall(payload)),
        },
        body: JSON.stringify({ payload }),
        redirect: 'error',
        signal: AbortSignal.timeout(command ? COMMAND_MS : CALL_MS),
      });
      const body: unknown = await response.json();
      if (response.ok) return body;
      throw refusalOf(body);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (!command || wasNotSent(error)) throw noLeader();
      throw new ServiceError(
        'node_no_answer',
        'the leading node gave no answer: it is not known whether the command was carried out; a repeat with the same idempotency_key is safe',
      );
    }
  }
}
/** A certificate of the leading node, decrypted; null where it has none, or none but `last`, the newest that this node received. */
export async function certificateOf<T extends { readonly certificate: string }>(
  leader: Pick<Leader, 'call'>,
  key: Buffer,
  op: 'certificate' | 'ordered',
  last: T | null,
): Promise<T | null> {
  const has = last === null ? '' : certificateHash(last.certificate);
  const { sealed } = (await leader.call({ op, has })) as CertificateAnswer;
  if (sealed === null) return null;
  const text = unseal(key, Buffer.from(sealed, 'base64'));
  if (text === null) throw new Error('it is encrypted with the key of another site');
  return JSON.parse(text.toString()) as T;
}
/** The error of a refusal by another node. */
export function refusalOf(body: unknown): Error {
  const { code, detail } = body as { code?: string; detail?: string };
  if (code === undefined || !Object.hasOwn(ERRORS, code))
    return new Error('the answer is not one of this service');
  return new ServiceError(code as ErrorCode, detail ?? '');
}
const wasNotSent = (error: unknown): boolean => {
  const cause = (error as { cause?: { code?: string } } | null)?.cause?.code;
  return cause === 'ECONNREFUSED' || cause === 'EHOSTUNREACH' || cause === 'ENOTFOUND';
};
