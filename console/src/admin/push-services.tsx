/** Push services that wake mobile apps: stored, replaced, tried and removed. The key is never shown again. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Paper, SimpleGrid, Stack, Text, TextInput, Textarea, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { PushPlatform, PushService, PushTestReply } from '@offhook/contract/push.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Danger } from '../app/danger.tsx';
import { Dialog } from '../app/dialog.tsx';
import { fieldsWith } from '../app/field-errors.ts';
import type { Labels } from '../app/field-errors.ts';
import { formatDateTime, formatNumber } from '../app/format.ts';
import { Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Failure, Read } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

const TITLES: Readonly<Record<PushPlatform, string>> = {
  fcm: 'Firebase Cloud Messaging (FCM)',
  apns: 'Apple Push Notification service (APNs)',
};
/** Fields of the form; `true` for those that must be given. */
const FIELDS = {
  fcm: { project_id: true, client_email: true, app_id: false, api_key: false, sender_id: false },
  apns: { team_id: true, key_id: true },
} as const;
type Field = keyof (typeof FIELDS)['fcm'] | keyof (typeof FIELDS)['apns'];
const fieldsOf = (platform: PushPlatform): readonly (readonly [Field, boolean])[] =>
  Object.entries(FIELDS[platform]) as (readonly [Field, boolean])[];

export function PushServices(): ReactNode {
  const client = useClient();
  const list = useQuery({
    queryKey: ['push-services'],
    queryFn: ({ signal }) => client.push.services(signal),
  });
  return (
    <Section title={t('push_services')} text={t('push_services_text')}>
      <Read of={list}>
        {({ services }) => (
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            {(['fcm', 'apns'] as const).map((platform) => (
              <ServiceCard
                key={platform}
                platform={platform}
                service={services.find((one) => one.platform === platform)}
              />
            ))}
          </SimpleGrid>
        )}
      </Read>
    </Section>
  );
}
function ServiceCard({
  platform,
  service,
}: {
  readonly platform: PushPlatform;
  readonly service: PushService | undefined;
}): ReactNode {
  const client = useClient();
  const [editing, setEditing] = useState(false);
  const remove = useChange<unknown, undefined>(
    () => (platform === 'fcm' ? client.push.removeFcm() : client.push.removeApns()),
    { renews: ['push-services'], done: () => t('push_removed') },
  );
  return (
    <Paper withBorder p="md" component="section" aria-label={TITLES[platform]}>
      <Stack gap="sm">
        <Title order={3} size="h5">
          {TITLES[platform]}
        </Title>
        {service === undefined ? (
          <Text size="sm" c="dimmed">
            {t('push_not_set')}
          </Text>
        ) : (
          <Facts service={service} />
        )}
        <Group gap="xs">
          <Button
            size="xs"
            variant="default"
            aria-label={`${t(service === undefined ? 'push_set' : 'push_replace')}: ${TITLES[platform]}`}
            onClick={() => setEditing(true)}
          >
            {t(service === undefined ? 'push_set' : 'push_replace')}
          </Button>
          {service !== undefined && (
            <Danger
              size="xs"
              label={t('push_remove')}
              about={`${t('push_remove')}: ${TITLES[platform]}`}
              title={t('push_remove')}
              text={t('push_remove_text')}
              change={remove}
            />
          )}
        </Group>
        {service !== undefined && <Trial platform={platform} />}
      </Stack>
      <Dialog opened={editing} onClose={() => setEditing(false)} title={TITLES[platform]} centered>
        {editing && (
          <Settings
            platform={platform}
            settings={service?.settings ?? {}}
            onClose={() => setEditing(false)}
          />
        )}
      </Dialog>
    </Paper>
  );
}
const Facts = ({ service }: { readonly service: PushService }): ReactNode => (
  <Stack gap={4}>
    {fieldsOf(service.platform).map(([field]) => {
      const value = service.settings[field] ?? '';
      return value === '' ? null : (
        <Text key={field} size="sm" style={{ overflowWrap: 'anywhere' }}>
          {t(`push_${field}`)}: {value}
        </Text>
      );
    })}
    <Text size="sm">{t('push_key_stored', { time: formatDateTime(service.changed_at) })}</Text>
    <Text size="sm">{t('push_apps', { count: service.devices, number: formatNumber(service.devices) })}</Text>
    <Text size="sm">
      {t('push_sent', {
        accepted: formatNumber(service.sent.accepted),
        failed: formatNumber(service.sent.gone + service.sent.refused + service.sent.unavailable),
      })}
    </Text>
    {service.last_error !== null && (
      <Text size="sm" c="var(--offhook-alert)" style={{ overflowWrap: 'anywhere' }}>
        {t('push_last_error', { time: formatDateTime(service.last_error.at) })}{' '}
        <span lang="en">{service.last_error.detail}</span>
      </Text>
    )}
  </Stack>
);
function Settings({
  platform,
  settings,
  onClose,
}: {
  readonly platform: PushPlatform;
  readonly settings: PushService['settings'];
  readonly onClose: () => void;
}): ReactNode {
  const client = useClient();
  const [values, setValues] = useState<Readonly<Partial<Record<Field, string>>>>(() =>
    Object.fromEntries(fieldsOf(platform).map(([field]) => [field, settings[field] ?? ''])),
  );
  const [key, setKey] = useState('');
  const value = (field: Field): string => (values[field] ?? '').trim();
  const save = useChange<unknown, undefined>(
    () =>
      platform === 'fcm'
        ? client.push.setFcm({
            project_id: value('project_id'),
            client_email: value('client_email'),
            private_key: key,
            app_id: value('app_id'),
            api_key: value('api_key'),
            sender_id: value('sender_id'),
            base_url: settings['base_url'] ?? null,
            token_url: settings['token_url'] ?? null,
          })
        : client.push.setApns({
            team_id: value('team_id'),
            key_id: value('key_id'),
            private_key: key,
            base_url: settings['base_url'] ?? null,
          }),
    { renews: ['push-services'], done: () => t('push_saved'), onDone: onClose },
  );
  const labels: Labels = {
    ...Object.fromEntries(fieldsOf(platform).map(([name]) => [name, t(`push_${name}`)])),
    private_key: t('push_private_key'),
  };
  const field = fieldsWith(save.error, labels);
  return (
    <ChangeForm change={save} submit={t('push_save')} labels={labels} onClose={onClose}>
      {fieldsOf(platform).map(([name, needed], i) => (
        <TextInput
          key={name}
          {...field(name)}
          data-autofocus={i === 0 || undefined}
          required={needed}
          autoComplete="off"
          value={values[name] ?? ''}
          onChange={(event) => {
            const { value: typed } = event.currentTarget;
            setValues((before) => ({ ...before, [name]: typed }));
          }}
        />
      ))}
      <Textarea
        {...field('private_key')}
        description={t('push_private_key_text')}
        required
        autosize
        minRows={3}
        maxRows={6}
        autoComplete="off"
        spellCheck={false}
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
      />
    </ChangeForm>
  );
}
/** Sends a test push to the apps of one person and shows the answer for each. */
function Trial({ platform }: { readonly platform: PushPlatform }): ReactNode {
  const client = useClient();
  const [extension, setExtension] = useState('');
  const [results, setResults] = useState<PushTestReply['results'] | null>(null);
  const trial = useChange((to: string) => client.push.test(platform, { extension: to }), {
    renews: ['push-services'],
    onDone: (reply) => setResults(reply.results),
  });
  const labels = { extension: t('push_test_extension') };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setResults(null);
        trial.mutate(extension.trim());
      }}
    >
      <Group gap="xs" align="flex-end">
        <TextInput
          {...fieldsWith(trial.error, labels)('extension')}
          inputMode="numeric"
          required
          w={140}
          value={extension}
          onChange={(event) => setExtension(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" loading={trial.isPending}>
          {t('push_test')}
        </Button>
      </Group>
      {trial.isError && <Failure error={trial.error} labels={labels} />}
      <div role="status">
        {results?.length === 0 && <Text size="sm">{t('push_test_none')}</Text>}
        {results?.map((one, i) => (
          // oxlint-disable-next-line react/no-array-index-key -- the results of one test keep their places
          <Text key={i} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {one.app_id}: {t(`push_outcome_${one.outcome}`)} <span lang="en">{one.detail}</span>
          </Text>
        ))}
      </div>
    </form>
  );
}
