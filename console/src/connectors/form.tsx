import { useState } from 'react';
import type { ReactNode } from 'react';
import { Alert, Badge, Group, PasswordInput, Select, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Connector, ConnectorFileInfo } from '@offhook/contract/connectors.ts';
import { useAttempt } from '../app/attempt.ts';
import { ChangeForm } from '../app/change-form.tsx';
import { Dialog } from '../app/dialog.tsx';
import { errorAt, fieldsWith } from '../app/field-errors.ts';
import { useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Read } from '../app/states.tsx';
import { wordsOf } from '../app/words.ts';
import { CONNECTORS, connectorPath, filesQuery } from './parts.tsx';

const t = wordsOf('connectors');

/** Limits of the contract, which is not loaded here. */
const MOST = { title: 80, setting: 2_000 };
type Setting = ConnectorFileInfo['settings'][number];
type Values = Readonly<Record<string, string>>;

/** Fields for the settings of a connector whose file is uploaded, missing or broken: only their names are known. */
const settingsOf = ({ settings, secrets }: Connector): Setting[] => [
  ...Object.keys(settings).map((name) => ({ name, text: name, secret: false, url: false, initial: null })),
  ...secrets.map((name) => ({ name, text: name, secret: true, url: false, initial: null })),
];

interface SettingProps {
  readonly setting: Setting;
  /** True if the secret is stored; it stays while the field is empty. */
  readonly isSet: boolean;
  readonly error: ReactNode;
  readonly value: string;
  readonly onChange: (value: string) => void;
}
function SettingField({ setting, isSet, error, value, onChange }: SettingProps): ReactNode {
  const { text, secret, url, initial } = setting;
  const shared = {
    label: text,
    error,
    value,
    maxLength: MOST.setting,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      onChange(event.currentTarget.value),
  };
  if (secret)
    return (
      <PasswordInput
        {...shared}
        description={t(isSet ? 'secret_set' : 'secret_hint')}
        autoComplete="new-password"
        required={!isSet && initial === null}
      />
    );
  return (
    <TextInput
      {...shared}
      {...(url && {
        description: t('address_hint'),
        inputMode: 'url',
        placeholder: 'https://crm.example.com',
      })}
      required
    />
  );
}

interface FileProps {
  readonly label: string;
  readonly error: ReactNode;
  readonly files: readonly ConnectorFileInfo[];
  readonly file: ConnectorFileInfo | null;
  readonly onChange: (key: string | null) => void;
}
function FileSelect({ label, error, files, file, onChange }: FileProps): ReactNode {
  return (
    <>
      <Select
        label={label}
        error={error}
        placeholder={t('choose')}
        data={files.map(({ key, name, findings }) => ({
          value: key,
          label: name === key ? key : `${name} (${key})`,
          disabled: findings.length > 0,
        }))}
        value={file?.key ?? null}
        onChange={onChange}
        data-autofocus
        searchable
        nothingFoundMessage={t('no_match')}
        required
      />
      {/* Beside a chosen file it would read as its finding. */}
      {file === null &&
        files.map(
          ({ key, findings: [first] }) =>
            first !== undefined && (
              <Alert key={key} role="note" color="red" variant="light" title={t('file_wrong', { file: key })}>
                {[first.line === null ? '' : t('line', { line: first.line }), first.path, first.reason]
                  .filter(Boolean)
                  .join(' · ')}
              </Alert>
            ),
        )}
      {file !== null && (
        <Group gap="xs">
          <Badge color={file.tried ? 'green' : 'yellow'} variant="dot" tt="none">
            {t(file.tried ? 'tried' : 'not_tried')}
          </Badge>
          {file.about !== null && (
            <Text size="sm" c="dimmed" lang="en">
              {file.about}
            </Text>
          )}
        </Group>
      )}
    </>
  );
}

interface FieldsProps extends FormProps {
  readonly files: readonly ConnectorFileInfo[];
}
function Fields({ connector, files, onClose }: FieldsProps): ReactNode {
  const client = useClient();
  const attempt = useAttempt();
  const [, go] = useLocation();
  const [key, setKey] = useState(connector?.file ?? null);
  const [title, setTitle] = useState(connector?.title ?? '');
  const [typed, setTyped] = useState<Values>({});
  const file = files.find((one) => one.key === key && one.findings.length === 0) ?? null;
  const settings = file?.settings ?? (connector === null ? [] : settingsOf(connector));
  const known = ({ name, initial }: Setting): string => connector?.settings[name] ?? initial ?? '';
  const change = useChange(
    () => {
      const changed = settings.flatMap((one) => {
        const value = typed[one.name];
        const stays = value === undefined || (one.secret && value === '');
        return stays ? [] : [[one.name, value] as const];
      });
      const wanted = {
        ...(title.trim() !== '' && { title: title.trim() }),
        settings: Object.fromEntries(changed),
      };
      if (connector !== null) return client.connectors.change(connector.id, wanted);
      const fresh = { ...wanted, file: key ?? '' };
      return attempt(fresh, (options) => client.connectors.create(fresh, options));
    },
    {
      renews: [CONNECTORS],
      done: () => t(connector === null ? 'created' : 'changed'),
      onDone: (stored) => {
        onClose();
        if (connector === null) go(connectorPath(stored.connector.id));
      },
    },
  );
  const labels = {
    file: t('system'),
    title: t('name'),
    ...Object.fromEntries(settings.map(({ name, text }) => [`settings.${name}`, text])),
  };
  const field = fieldsWith(change.error, labels);
  return (
    <ChangeForm
      change={change}
      submit={t(connector === null ? 'create' : 'save')}
      labels={labels}
      onClose={onClose}
    >
      {connector === null && (
        <FileSelect
          {...field('file')}
          files={files}
          file={file}
          onChange={(next) => {
            setKey(next);
            setTyped({});
          }}
        />
      )}
      {(connector !== null || file !== null) && (
        <TextInput
          {...field('title')}
          data-autofocus={connector !== null || undefined}
          placeholder={file?.name ?? ''}
          description={t('name_hint')}
          value={title}
          maxLength={MOST.title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
      )}
      {settings.map((setting) => (
        <SettingField
          key={`${key}/${setting.name}`}
          setting={setting}
          isSet={connector?.secrets.includes(setting.name) ?? false}
          error={errorAt(change.error, `settings.${setting.name}`)}
          value={typed[setting.name] ?? (setting.secret ? '' : known(setting))}
          onChange={(value) => setTyped((before) => ({ ...before, [setting.name]: value }))}
        />
      ))}
    </ChangeForm>
  );
}
interface FormProps {
  /** Null creates a connector. */
  readonly connector: Connector | null;
  readonly onClose: () => void;
}
/** Creates a connector from a file, or changes its name and settings. */
export function ConnectorForm({ connector, onClose }: FormProps): ReactNode {
  const client = useClient();
  const files = useQuery(filesQuery(client));
  return (
    <Dialog opened onClose={onClose} title={t(connector === null ? 'new' : 'change_title')} size="lg">
      <Read of={files}>{(found) => <Fields connector={connector} files={found} onClose={onClose} />}</Read>
    </Dialog>
  );
}
