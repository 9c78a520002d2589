import type { ReactNode } from 'react';
import {
  Button,
  Group,
  Paper,
  SegmentedControl,
  Stack,
  Text,
  Title,
  useMantineColorScheme,
} from '@mantine/core';
import type { MantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { LanguageSwitch } from '../app/preferences.tsx';
import { useClient, useMe, useSession } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { tellFailure } from '../app/tell.ts';
import { AppSignIn } from './app-sign-in.tsx';
import { DeviceTable, FOLLOW_MS } from './devices.tsx';
import { OwnCalls } from './own-calls.tsx';
import { PasswordForm } from './password.tsx';
import { SecondFactor } from './second-factor.tsx';
import { wordsOf } from '../app/words.ts';

const app = wordsOf('app');
const t = wordsOf('account');

interface SectionProps {
  readonly title: string;
  readonly text?: string;
  readonly children: ReactNode;
}
const Section = ({ title, text, children }: SectionProps): ReactNode => (
  <Paper component="section" withBorder p="lg" aria-label={title}>
    <Title order={2} size="h4">
      {title}
    </Title>
    {text !== undefined && (
      <Text size="sm" c="dimmed" maw={640}>
        {text}
      </Text>
    )}
    <div style={{ marginTop: 'var(--mantine-spacing-md)' }}>{children}</div>
  </Paper>
);
function Devices(): ReactNode {
  const client = useClient();
  const { full_name, username } = useMe();
  const devices = useQuery({
    queryKey: ['account', 'devices'],
    queryFn: ({ signal }) => client.session.devices(signal),
    refetchInterval: FOLLOW_MS,
  });
  return (
    <Stack>
      <Read of={devices}>
        {({ sessions }) => (
          <>
            <DeviceTable
              devices={sessions.toSorted((a, b) => Number(b.current) - Number(a.current))}
              end={(id) => client.session.end(id)}
              renews={['account']}
            />
            <Group>
              <AppSignIn
                name={full_name ?? username}
                make={() => client.session.createSignInCode()}
                renews="account"
              />
            </Group>
          </>
        )}
      </Read>
    </Stack>
  );
}
function Look(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Group gap="xl" align="flex-end">
      <div>
        <Text size="sm" fw={500} mb={4}>
          {app('language')}
        </Text>
        <LanguageSwitch />
      </div>
      <div>
        <Text size="sm" fw={500} mb={4}>
          {app('appearance')}
        </Text>
        <SegmentedControl
          aria-label={app('appearance')}
          value={colorScheme}
          onChange={(value) => setColorScheme(value as MantineColorScheme)}
          data={(['light', 'dark', 'auto'] as const).map((value) => ({ value, label: app(value) }))}
        />
      </div>
    </Group>
  );
}
/** Settings of the signed-in person. */
export function AccountPage(): ReactNode {
  const me = useMe();
  const { signOut } = useSession();
  return (
    <Stack maw={960}>
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
            {me.full_name ?? me.username}
          </Title>
          <Text size="sm" c="dimmed">
            {[me.extension, me.username, t(`level_${me.level}`)].join(' · ')}
          </Text>
        </div>
        <Button
          variant="default"
          leftSection={<LogOut size={16} aria-hidden />}
          onClick={() => void signOut().catch(tellFailure)}
        >
          {app('sign_out')}
        </Button>
      </Group>
      <Section title={t('own_calls')} text={t('own_calls_text')}>
        <OwnCalls />
      </Section>
      <Section title={t('look')}>
        <Look />
      </Section>
      <Section title={t('second_factor')} text={t('second_factor_text')}>
        <SecondFactor />
      </Section>
      <Section title={t('password')} text={t('password_text')}>
        <PasswordForm />
      </Section>
      <Section title={t('devices')} text={t('devices_text')}>
        <Devices />
      </Section>
    </Stack>
  );
}
