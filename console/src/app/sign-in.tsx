import { useRef, useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import {
  Button,
  Center,
  FocusTrap,
  Group,
  Modal,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { OffhookError } from '@offhook/client';
import { CompanyProblem, CompanySignIn, CompanyWindow } from './company-sign-in.tsx';
import { isField } from './focus.ts';
import { LanguageSwitch } from './preferences.tsx';
import { useSession } from './session.tsx';
import { Failure } from './states.tsx';
import { wordsOf } from './words.ts';

const t = wordsOf('app');

interface SignInFormProps {
  /** Set if only the same person may sign in. */
  readonly username?: string;
  /** True: does not move the focus into its fields. */
  readonly quiet?: boolean;
}
function SignInForm({ username: given, quiet = false }: SignInFormProps): ReactNode {
  const { signIn } = useSession();
  const [username, setUsername] = useState(given ?? '');
  const [password, setPassword] = useState('');
  const [otp, setOtp] = useState('');
  const [asksOtp, setAsksOtp] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  async function submit(): Promise<void> {
    setBusy(true);
    setError(null);
    try {
      await signIn({ username: username.trim(), password, ...(otp === '' ? {} : { otp: otp.trim() }) });
    } catch (refusal) {
      const needsOtp = refusal instanceof OffhookError && refusal.code === 'otp_required';
      setAsksOtp(asksOtp || needsOtp);
      setError(needsOtp && !asksOtp ? null : refusal);
    } finally {
      setBusy(false);
    }
  }
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    void submit();
  };
  return (
    <form onSubmit={onSubmit}>
      <Stack>
        <TextInput
          label={t('username')}
          name="username"
          autoComplete="username"
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          readOnly={given !== undefined}
          data-autofocus={given === undefined || undefined}
          required
        />
        <PasswordInput
          label={t('password')}
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          data-autofocus={(given !== undefined && !quiet) || undefined}
          required
        />
        {asksOtp && (
          <TextInput
            label={t('otp')}
            description={t('otp_hint')}
            name="otp"
            autoComplete="one-time-code"
            inputMode="numeric"
            value={otp}
            onChange={(event) => setOtp(event.currentTarget.value)}
            autoFocus
            required
          />
        )}
        {error !== null && <Failure error={error} />}
        <Button type="submit" loading={busy}>
          {t('sign_in')}
        </Button>
      </Stack>
    </form>
  );
}
export function SignInPage(): ReactNode {
  const { siteTitle, state } = useSession();
  const problem = state.is === 'out' ? state.problem : undefined;
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w={400} maw="100%">
        <Group mb="lg" wrap="nowrap">
          <img src="/favicon.svg" width={40} height={40} alt="" />
          <div>
            <Title order={1} size="h3">
              {siteTitle}
            </Title>
            <Text c="dimmed" size="sm">
              {t('sign_in_lead')}
            </Text>
          </div>
        </Group>
        {problem !== undefined && <CompanyProblem code={problem.code} />}
        {problem?.window === true ? (
          <Button variant="default" fullWidth onClick={() => window.close()}>
            {t('close')}
          </Button>
        ) : (
          <Stack>
            <SignInForm />
            <CompanySignIn />
          </Stack>
        )}
        <Group justify="center" mt="lg">
          <LanguageSwitch />
        </Group>
      </Paper>
    </Center>
  );
}
/** Sign-in dialog over a page whose session ended; the page keeps its state. */
export function SignInAgain(): ReactNode {
  const { state } = useSession();
  // The session can end while a person is typing; that text must not go into the password field.
  const typing = useRef<boolean | null>(null);
  if (state.is !== 'ended') {
    typing.current = null;
    return null;
  }
  typing.current ??= isField(document.activeElement);
  const { me } = state;
  return (
    <Modal
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      centered
      title={t('ended_title')}
    >
      {typing.current && <FocusTrap.InitialFocus />}
      <Stack>
        <Text size="sm">{t('ended_text', { name: me.full_name ?? me.username })}</Text>
        <SignInForm username={me.username} quiet={typing.current} />
        <CompanyWindow only={me.username} />
        <Button variant="subtle" onClick={() => location.assign('/')}>
          {t('other_person')}
        </Button>
      </Stack>
    </Modal>
  );
}
