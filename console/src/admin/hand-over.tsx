/** Generated secrets of an object, shown once; for an extension with the settings of its phone. */
import type { ReactNode } from 'react';
import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, Copy, Download } from 'lucide-react';
import type { ConfigKind } from '@offhook/contract/config-objects.ts';
import { CopyButton } from '../app/copy.ts';
import { useClient } from '../app/session.tsx';
import { Failure } from '../app/states.tsx';
import { fieldLabel, kindName } from './field-words.ts';
import { saveFile } from './save-file.ts';
import { Note } from './tone.tsx';
import { wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

export interface Handed {
  readonly kind: ConfigKind;
  readonly key: string;
  readonly name: string;
  readonly username: string;
  readonly secrets: Readonly<Record<string, string>>;
  /** Error of the request for a password. */
  readonly failed: unknown;
}
export function HandOver({
  handed,
  onClose,
}: {
  readonly handed: Handed;
  readonly onClose: () => void;
}): ReactNode {
  const client = useClient();
  const { kind, key, name, username, secrets, failed } = handed;
  const server = useQuery({
    queryKey: ['session', 'sip'],
    queryFn: ({ signal }) => client.session.sip(signal),
    enabled: kind === 'extension',
  });
  const rows: (readonly [label: string, value: string])[] = [];
  if (kind === 'extension') {
    rows.push([t('address'), location.origin], [fieldLabel(kind, 'extension'), key]);
    if (username !== '') rows.push([fieldLabel(kind, 'username'), username]);
    if (secrets['password'] !== undefined) rows.push([t('password_sign_in'), secrets['password']]);
    if (secrets['sip_password'] !== undefined) {
      const sip = server.data?.sip;
      if (sip !== undefined)
        rows.push([t('sip_server'), sip.domain], [t('sip_port'), `${sip.sip_port} (UDP)`]);
      rows.push([t('sip_user'), key], [fieldLabel(kind, 'sip_password'), secrets['sip_password']]);
    }
    if (secrets['voicemail_pin'] !== undefined)
      rows.push([fieldLabel(kind, 'voicemail_pin'), secrets['voicemail_pin']]);
  } else for (const [secret, value] of Object.entries(secrets)) rows.push([fieldLabel(kind, secret), value]);
  const text = `${name}\n${rows.map(([label, value]) => `${label}: ${value}`).join('\n')}\n`;
  return (
    <Modal
      opened
      onClose={onClose}
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      size="lg"
      title={t('hand_over', { name: `${kindName(kind)} ${key}` })}
    >
      <Stack gap="md">
        <Note tone="warn">{t('shown_once')}</Note>
        {failed !== null && <Failure error={failed} />}
        {server.isError && <Failure error={server.error} onRetry={() => void server.refetch()} />}
        <Table withRowBorders variant="vertical">
          <Table.Tbody>
            {rows.map(([label, value]) => (
              <Table.Tr key={label}>
                <Table.Th scope="row" w={190} bg="transparent">
                  {label}
                </Table.Th>
                <Table.Td>
                  <Group gap="xs" justify="space-between" wrap="nowrap">
                    <Text ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
                      {value}
                    </Text>
                    <CopyButton value={value}>
                      {({ copied, copy }) => (
                        <Button
                          size="compact-sm"
                          variant="subtle"
                          onClick={copy}
                          aria-label={t('copy_of', { label })}
                          leftSection={
                            copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />
                          }
                        >
                          {t(copied ? 'copied' : 'copy')}
                        </Button>
                      )}
                    </CopyButton>
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {kind === 'extension' && (
          <Text size="sm" c="dimmed">
            {t('hand_over_text')}
          </Text>
        )}
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <CopyButton value={text}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy} leftSection={<Copy size={16} aria-hidden />}>
                  {t(copied ? 'copied' : 'copy_all')}
                </Button>
              )}
            </CopyButton>
            <Button
              variant="default"
              leftSection={<Download size={16} aria-hidden />}
              onClick={() => saveFile(`${kind}-${key}.txt`, 'text/plain', text)}
            >
              {t('as_file')}
            </Button>
          </Group>
          <Button onClick={onClose} data-autofocus>
            {t('done')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
