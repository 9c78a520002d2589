import { useState } from 'react';
import type { ReactNode } from 'react';
import { Badge, Button, Group, PasswordInput, Radio, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { SignInPerson } from '@offhook/contract/people.ts';
import { AppSignIn } from '../account/app-sign-in.tsx';
import { DeviceTable, FOLLOW_MS } from '../account/devices.tsx';
import { Danger } from '../app/danger.tsx';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import { useClient, useMe } from '../app/session.tsx';
import { Read, isMissing } from '../app/states.tsx';
import type { PageProps } from '../pages.tsx';
import { PAGE_PATHS } from '../app/paths.ts';
import { PageHead, Section, useChange } from '../app/page-parts.tsx';
import { ShownOnce } from './parts.tsx';
import { LevelBadge, SecondFactorMark } from './people.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('people');

const CHOICES = [
  ['made', 'make_one_up'],
  ['typed', 'typed_by_me'],
] as const;
function NewPassword({ person }: { readonly person: SignInPerson }): ReactNode {
  const client = useClient();
  const [opened, setOpened] = useState(false);
  const [how, setHow] = useState<'made' | 'typed'>('made');
  const [typed, setTyped] = useState('');
  const [shown, setShown] = useState<string | null>(null);
  const change = useChange(
    () => client.config.setCredentials(person.extension, how === 'typed' ? { password: typed } : {}),
    {
      renews: ['people'],
      onDone: ({ secrets }) => {
        setOpened(false);
        if (how === 'made') setShown(secrets['password'] ?? null);
      },
      done: () => t('password_set'),
    },
  );
  const labels = { password: t('password') };
  const open = (): void => {
    change.reset();
    setTyped('');
    setOpened(true);
  };
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('new_password')}
      </Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title={t('new_password')} centered>
        <ChangeForm
          change={change}
          submit={t('set_password')}
          labels={labels}
          onClose={() => setOpened(false)}
        >
          <Text size="sm">{t('new_password_text', { name: person.name })}</Text>
          <Radio.Group
            aria-label={t('new_password')}
            value={how}
            onChange={(value) => setHow(value as typeof how)}
          >
            <Group>
              {CHOICES.map(([value, label]) => (
                <Radio
                  key={value}
                  value={value}
                  label={t(label)}
                  data-autofocus={how === value || undefined}
                />
              ))}
            </Group>
          </Radio.Group>
          {how === 'typed' && (
            <PasswordInput
              {...fieldsWith(change.error, labels)('password')}
              description={t('password_rule')}
              autoComplete="new-password"
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              required
            />
          )}
        </ChangeForm>
      </Dialog>
      <ShownOnce
        title={t('new_password_of', { name: person.name })}
        text={t('shown_once')}
        value={shown}
        onClose={() => setShown(null)}
      />
    </>
  );
}
function SignIns({ person }: { readonly person: SignInPerson }): ReactNode {
  const client = useClient();
  const { extension } = person;
  const sessions = useQuery({
    queryKey: ['people', 'sessions', extension],
    queryFn: ({ signal }) => client.people.sessions(extension, signal),
    refetchInterval: FOLLOW_MS,
  });
  const endAll = useChange(() => client.people.endSessions(extension), {
    renews: ['people'],
    done: ({ ended }) => t('signed_out', { count: ended }),
  });
  return (
    <Section
      title={t('devices')}
      text={t('devices_text')}
      actions={
        <Group>
          {!person.second_factor && person.active && (
            <AppSignIn
              name={person.name}
              make={() => client.people.createSignInCode(extension)}
              renews="people"
            />
          )}
          <Danger
            label={t('sign_out_everywhere')}
            title={t('sign_out_everywhere')}
            text={t('sign_out_everywhere_text', { name: person.name })}
            change={endAll}
            disabled={sessions.data?.sessions.length === 0}
          />
        </Group>
      }
    >
      <Read of={sessions}>
        {(reply) => (
          <DeviceTable
            devices={reply.sessions.map((s) => ({ ...s, current: false }))}
            end={(id) => client.people.endSession(extension, id)}
            renews={['people']}
          />
        )}
      </Read>
    </Section>
  );
}
function SecondFactor({ person }: { readonly person: SignInPerson }): ReactNode {
  const client = useClient();
  const own = useMe().extension === person.extension;
  const disable = useChange(() => client.people.disableOtp(person.extension), {
    renews: ['people'],
    done: () => t('second_factor_is_off'),
  });
  const action = own ? (
    <Button component={Link} href={PAGE_PATHS.account} variant="default">
      {t('in_my_account')}
    </Button>
  ) : (
    person.second_factor && (
      <Danger
        label={t('switch_off')}
        about={t('second_factor')}
        title={t('switch_off_second_factor')}
        text={t('switch_off_second_factor_text', { name: person.name })}
        change={disable}
      />
    )
  );
  return (
    <Section title={t('second_factor')} text={t('second_factor_text')} actions={action}>
      <SecondFactorMark on={person.second_factor} />
    </Section>
  );
}
/** Sign-in of one person. */
export function PersonPage({ params }: PageProps): ReactNode {
  const client = useClient();
  const extension = params['extension'] ?? '';
  const found = useQuery({
    queryKey: ['people', 'one', extension],
    queryFn: ({ signal }) => client.people.get(extension, signal),
  });
  return (
    <>
      {found.data === undefined && found.isError && !isMissing(found.error) && <PageHead title={extension} />}
      <Read of={found} back={{ href: PAGE_PATHS.people, label: t('people') }}>
        {({ person }) => <Shown person={person} />}
      </Read>
    </>
  );
}
function Shown({ person }: { readonly person: SignInPerson }): ReactNode {
  return (
    <>
      <PageHead
        title={person.name}
        lead={
          <Group gap="xs">
            <span>
              {person.extension} · {person.username}
            </span>
            <LevelBadge level={person.level} />
            {!person.active && (
              <Badge variant="outline" color="gray" tt="none">
                {t('inactive')}
              </Badge>
            )}
          </Group>
        }
      >
        <Button
          component={Link}
          href={`${PAGE_PATHS.config}/extensions/${person.extension}`}
          variant="default"
        >
          {t('change_in_configuration')}
        </Button>
      </PageHead>
      <SignIns person={person} />
      <Section title={t('password')} text={t('password_text')} actions={<NewPassword person={person} />} />
      <SecondFactor person={person} />
    </>
  );
}
