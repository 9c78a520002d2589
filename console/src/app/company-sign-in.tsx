/** Signing in with the account of the company, at its OpenID provider. */
import type { ReactNode } from 'react';
import { Alert, Button } from '@mantine/core';
import { thisDevice } from './device.ts';
import { codeText } from './error-words.ts';
import { useSession } from './session.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');
const errors = wordsOf('errors');
/** Address at which a sign-in begins. */
const start = (more: Readonly<Record<string, string>>): string =>
  `/sign-in/company?${new URLSearchParams({ ...more, at: location.origin, ...thisDevice() }).toString()}`;
const WINDOW = 'popup,width=520,height=720';

/** Leaves this page for the provider, which sends the browser back to it. */
export function CompanySignIn(): ReactNode {
  const { company } = useSession();
  if (company === null) return null;
  return (
    <Button component="a" variant="default" fullWidth href={start({ to: location.pathname })}>
      {t('company_sign_in', { name: company })}
    </Button>
  );
}
interface CompanyWindowProps {
  /** True: the person must sign in at the provider anew, which confirms the session. */
  readonly again?: boolean;
  /** User name of the only person who may sign in. */
  readonly only?: string;
}
/** The same in a window of its own, so that this page stays. */
export function CompanyWindow({ again = false, only }: CompanyWindowProps): ReactNode {
  const { company } = useSession();
  if (company === null) return null;
  const address = start({
    window: '1',
    ...(again ? { again: '1' } : {}),
    ...(only === undefined ? {} : { only }),
  });
  return (
    <Button variant="default" onClick={() => window.open(address, 'offhook-company', WINDOW)}>
      {t(again ? 'company_confirm' : 'company_sign_in', { name: company })}
    </Button>
  );
}
/** Why a sign-in by the company failed; `code` comes from the address, so other texts than ours are not shown. */
export const CompanyProblem = ({ code }: { readonly code: string }): ReactNode => (
  <Alert color="red" role="alert" mb="md">
    {codeText(errors.has(code) ? code : 'company_sign_in_failed')}
  </Alert>
);
