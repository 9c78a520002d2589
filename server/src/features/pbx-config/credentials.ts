import type { CredentialsReply, NewCredentials } from '@offhook/contract/config.ts';
import type { z } from 'zod';
import type { Audit } from '../../ports/audit.ts';
import type { Actor } from '../../ports/operations.ts';
import { authorOf } from './draft.ts';
import type { Draft } from './draft.ts';
import { notFound } from './edit.ts';
import { createReader } from './view.ts';

/** Owner of the passwords. */
export interface SignIn {
  /** Ends the person's sessions. Throws `overloaded`. */
  setPassword(personId: number, password: string): Promise<void>;
  newPassword(): string;
}
export interface Credentials {
  /**
   * A password is valid at once, also for an extension that is not applied yet. Throws `not_found`, `overloaded`,
   * `store_unavailable`.
   */
  give(
    actor: Actor,
    extension: string,
    wanted: Partial<NonNullable<z.output<typeof NewCredentials>>>,
  ): Promise<CredentialsReply>;
}

export function createCredentials(deps: {
  readonly draft: Draft;
  readonly audit: Audit;
  readonly signIn: SignIn;
}): Credentials {
  const { draft, audit, signIn } = deps;
  const reader = createReader(draft);
  return {
    async give(actor, extension, { password, renew_sip_password = false }) {
      const ref = { kind: 'extension', key: extension } as const;
      const person = draft.objects.draft().of('extension').get(extension);
      if (person === undefined) throw notFound(ref);
      const secrets: Record<string, string> = {};
      if (renew_sip_password) {
        const { made } = await draft.change(actor, [{ op: 'patch', ...ref, patch: { sip_password: null } }]);
        Object.assign(secrets, made[0]?.secrets);
      }
      if (password !== null) {
        const given = password ?? signIn.newPassword();
        await audit.record({
          action: 'config.password_set',
          actor: authorOf(actor.caller),
          object: `extension:${extension}`,
          outcome: 'ok',
          ip: actor.ip,
        });
        await signIn.setPassword(person.id, given);
        if (password === undefined) secrets['password'] = given;
      }
      const { etag, pending, object } = reader.one(ref);
      return {
        success: true,
        extension,
        username: (object as { username: string }).username,
        etag,
        pending,
        secrets,
      };
    },
  };
}
