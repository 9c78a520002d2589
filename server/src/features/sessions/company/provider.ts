/** The OpenID provider of the company, which proves who a person is. */
import type { JWTVerifyGetKey } from 'jose';
import type * as Client from 'openid-client';
import { z } from 'zod';
import type { Clock } from '../../../ports/clock.ts';
import type { ProviderLogout } from '../company-logouts.ts';
import type { CompanyAccount } from '../store.ts';

/** Claim that names a person: an e-mail address or a user name of the site. */
export type NamingClaim = 'email' | 'preferred_username';
export interface ProviderSettings {
  readonly issuer: string;
  readonly client_id: string;
  /** Null for a client without one, which proves itself by PKCE alone. */
  readonly client_secret: string | null;
  readonly claim: NamingClaim;
}
/** Values that bind the answer of the provider to one browser. */
export interface Challenge {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** True: the person has to sign in at the provider again. */
  readonly again: boolean;
  /** Time of the beginning in milliseconds since 1970. */
  readonly begun: number;
}
export interface Identity {
  readonly account: CompanyAccount;
  /** Value of the claim; null where the provider gives none, or does not vouch for the e-mail address. */
  readonly name: string | null;
  /** Time of the sign-in at the provider in milliseconds since 1970, if it says so. */
  readonly signed_in_at: number | null;
}

const TIMEOUT_SECONDS = 10;
/** The addresses of a provider are read again after an hour. */
const KNOWN_MS = 3_600_000;
/** The clock of the provider may be behind by this much. */
const SKEW_MS = 30_000;
/** Longest sign-in; the library checks that the provider names the time of the sign-in. */
const LONGEST_SECONDS = 600;

/** A logout token older than this is refused, whatever end its provider gives it. */
const LOGOUT_SECONDS = 600;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const Name = z.string().min(1);
/** Claims of a logout token beside those of every signed token (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
const LogoutClaims = z
  .object({
    jti: Name,
    events: z.object({ [LOGOUT_EVENT]: z.record(z.string(), z.unknown()) }),
    // An ID token has one; it must not pass for a logout.
    nonce: z.undefined().optional(),
  })
  .and(
    z.union([z.object({ sub: Name, sid: Name.optional() }), z.object({ sid: Name, sub: Name.optional() })]),
  );

interface Known {
  readonly client: typeof Client;
  readonly config: Client.Configuration;
  /** Keys with which the provider signs. */
  readonly keys: JWTVerifyGetKey;
  readonly until: number;
}
export class OpenIdProvider {
  readonly #settings: ProviderSettings;
  readonly #clock: Clock;
  #known: Promise<Known> | null = null;
  constructor(settings: ProviderSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }
  get claim(): NamingClaim {
    return this.#settings.claim;
  }
  /** Address of the provider's page for signing in, and the challenge of the answer. Throws if the provider does not answer. */
  async begin(redirectUri: string, again: boolean): Promise<{ address: URL; challenge: Challenge }> {
    const { client, config } = await this.#provider();
    const challenge = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      again,
      begun: this.#clock.now(),
    };
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      state: challenge.state,
      nonce: challenge.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(challenge.verifier),
      code_challenge_method: 'S256',
      ...(again ? { prompt: 'login', max_age: '0' } : {}),
    });
    return { address, challenge };
  }
  /** The person whom the answer names; `answer` is the address to which the provider sent the browser. Throws for a bad answer. */
  async identify(answer: URL, { state, nonce, verifier, again }: Challenge): Promise<Identity> {
    const { client, config } = await this.#provider();
    const tokens = await client.authorizationCodeGrant(config, answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
      ...(again ? { maxAge: LONGEST_SECONDS } : {}),
    });
    const proven = tokens.claims()!;
    const { claim } = this;
    const claims: Readonly<Record<string, unknown>> =
      proven[claim] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
        ? await client.fetchUserInfo(config, tokens.access_token, proven.sub)
        : proven;
    const name = claims[claim];
    // Entra ID has no such claim, and some providers write it as text.
    const isVouched = [proven, claims].every(({ email_verified: verified }) =>
      [undefined, true, 'true'].includes(verified as string | boolean | undefined),
    );
    const vouched = claim !== 'email' || isVouched;
    return {
      account: { sub: proven.sub, sid: typeof proven['sid'] === 'string' ? proven['sid'] : null },
      name: typeof name === 'string' && name !== '' && vouched ? name : null,
      signed_in_at: proven.auth_time === undefined ? null : proven.auth_time * 1000,
    };
  }
  /** What a logout token of the provider ends. Throws for any other token, and if the provider's keys cannot be read. */
  async logout(token: string): Promise<ProviderLogout> {
    const { config, keys } = await this.#provider();
    const { jwtVerify } = await import('jose');
    const { issuer, id_token_signing_alg_values_supported: algorithms = ['RS256'] } = config.serverMetadata();
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: this.#settings.client_id,
      algorithms,
      clockTolerance: SKEW_MS / 1000,
      currentDate: new Date(this.#clock.now()),
      maxTokenAge: LOGOUT_SECONDS,
    });
    return { ...LogoutClaims.parse(payload), until: (payload.iat! + LOGOUT_SECONDS) * 1000 + SKEW_MS };
  }
  async #provider(): Promise<Known> {
    const known = await this.#known;
    if (known !== null && this.#clock.now() < known.until) return known;
    this.#known = this.#discover().catch((error: unknown) => {
      this.#known = null;
      throw error;
    });
    return this.#known;
  }
  async #discover(): Promise<Known> {
    const { issuer, client_id, client_secret } = this.#settings;
    // Loaded with the first sign-in, because most sites have no provider.
    const client = await import('openid-client');
    const url = new URL(issuer);
    const config = await client.discovery(
      url,
      client_id,
      undefined,
      client_secret === null ? client.None() : client.ClientSecretPost(client_secret),
      {
        timeout: TIMEOUT_SECONDS,
        execute: [
          client.enableNonRepudiationChecks,
          // The settings allow this for loopback alone.
          ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : []),
        ],
      },
    );
    const { createRemoteJWKSet } = await import('jose');
    const keys = createRemoteJWKSet(new URL(config.serverMetadata().jwks_uri!), {
      timeoutDuration: TIMEOUT_SECONDS * 1000,
    });
    return { client, config, keys, until: this.#clock.now() + KNOWN_MS };
  }
}
/** True where the person has signed in at the provider since the sign-in here began. */
export const isFresh = ({ signed_in_at }: Identity, { begun }: Challenge): boolean =>
  signed_in_at !== null && signed_in_at >= begun - SKEW_MS;
