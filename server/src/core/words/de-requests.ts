/** Refusals of requests, streams and webhooks in German. */
export const requests: Readonly<Record<string, string>> = {
  'alert is before warn': 'die Alarmschwelle liegt vor der Warnschwelle',
  'must not be equal to from; a complete day is 00:00 to 24:00':
    'darf nicht gleich from sein; ein ganzer Tag ist 00:00 bis 24:00',
  'the month has no such day': 'diesen Tag hat der Monat nicht',
  'not 1 to 1000 slots, first to last': 'muss mit dem ersten 1 bis 1000 Parkplätze ergeben',
  'is missing: the number to use as a prefix': 'fehlt: die Nummer, die als Präfix dient',
  'name a number or an extension, and not both': 'nennen Sie eine Nummer oder eine Nebenstelle, nicht beide',
  'give queue or position': 'geben Sie queue oder position an',
  'username is missing or empty': 'der Benutzername fehlt oder ist leer',
  'must not be before from': 'darf nicht vor from liegen',
  'not a number: digits, and a + in front': 'keine Nummer: Ziffern, mit oder ohne + davor',
  'not 1 to 20 digits': 'muss aus 1 bis 20 Ziffern bestehen',
  'not 1 to 32 digits, with or without a + in front':
    'muss aus 1 bis 32 Ziffern bestehen, mit oder ohne + davor',
  'not a number: digits, a + in front, or nothing for off':
    'keine Nummer: Ziffern, mit oder ohne + davor, oder leer für aus',
  'must name a device that rings; do not disturb refuses all calls':
    'muss ein Gerät nennen, das klingelt; „Bitte nicht stören“ weist alle Anrufe ab',
  'must be an extension': 'muss eine Nebenstelle sein',
  'must name each figure once': 'darf jede Kennzahl nur einmal nennen',
  'must have one tile for each queue': 'darf für jede Warteschlange nur eine Kachel haben',
  'must name each part once': 'darf jeden Teil nur einmal nennen',
  'must have one threshold for each figure': 'darf für jede Kennzahl nur eine Schwelle haben',
  'must name each queue once': 'darf jede Warteschlange nur einmal nennen',
  'must be the id of a board': 'muss die Kennung einer Tafel sein',
  'must be 1 to 64 letters and digits, with " ._-" only between them':
    'muss aus 1 bis 64 Buchstaben und Ziffern bestehen, mit " ._-" nur dazwischen',
  'must be the id of a callback': 'muss die Kennung eines Rückrufs sein',
  'must be an API key': 'muss ein API-Schlüssel sein',
  'is allowed with the kind ldap only': 'ist nur bei der Art ldap erlaubt',
  'must be an LDAP attribute': 'muss ein LDAP-Attribut sein',
  'must have at most 10 attributes': 'darf höchstens 10 Attribute haben',
  'must be the id of a source': 'muss die Kennung einer Quelle sein',
  'must be the id of a network': 'muss die Kennung eines Netzes sein',
  'must have at most ten values': 'darf höchstens zehn Werte haben',
  'must be a name or address': 'muss ein Name oder eine Adresse sein',
  'the path check is not available with this engine': 'mit dieser Anlage gibt es keine Prüfung der Wege',
  'no node leads the site at the moment; try again shortly':
    'im Moment führt kein Knoten diese Anlage; gleich noch einmal versuchen',
  'the leading node gave no answer: it is not known whether the request was carried out; a repeat with the same Idempotency-Key is safe':
    'der führende Knoten hat nicht geantwortet: ob die Anfrage ausgeführt wurde, ist nicht bekannt; eine Wiederholung mit demselben Idempotency-Key schadet nicht',
  'this node is a standby; send the request to the leading node':
    'dieser Knoten ist eine Bereitschaft; senden Sie die Anfrage an den führenden Knoten',
  'this node cannot tell whether another one leads the site now':
    'dieser Knoten weiß nicht, ob gerade ein anderer die Anlage führt',
  'the engine is not connected': 'die Anlage ist nicht verbunden',
  'a path check is already running': 'eine Prüfung der Wege läuft schon',
  'host: name or address of the site for other machines; the network has no external_address':
    'host: Name oder Adresse des Standorts für andere Rechner; das Netz hat keine external_address',
  'SIP listens on {0} only, which no other machine reaches: set OFFHOOK_SIP_LISTEN':
    'SIP lauscht nur auf {0}, was kein anderer Rechner erreicht: OFFHOOK_SIP_LISTEN setzen',
  'must be the id of a rule': 'muss die Kennung einer Regel sein',
  'must not contain a colon or control characters': 'darf weder Doppelpunkt noch Steuerzeichen enthalten',
  'must be the id of a customer': 'muss die Kennung eines Kunden sein',
  'must be the id of a display key': 'muss die Kennung eines Anzeigeschlüssels sein',
  'must be the id of a call or a leg': 'muss die Kennung eines Anrufs oder eines Zweigs sein',
  'must be 1 to 32 of 0-9 * #': 'muss aus 1 bis 32 Zeichen aus 0-9 * # bestehen',
  'must be up to 15 digits, with or without a + in front':
    'muss aus bis zu 15 Ziffern bestehen, mit oder ohne + davor',
  'must be one line of at most 200 characters': 'muss eine Zeile mit höchstens 200 Zeichen sein',
  'must be an address that others can reach': 'muss eine Adresse sein, die andere erreichen können',
  'must have at least four ports': 'muss mindestens vier Ports haben',
  'must be 1 to 40 of a-z 0-9 _ -': 'muss aus 1 bis 40 Zeichen aus a-z 0-9 _ - bestehen',
  'must be 2 to 10 digits, the first not 0': 'muss aus 2 bis 10 Ziffern bestehen, deren erste nicht 0 ist',
  "must be 1 to 80 letters, digits, single spaces or . ' ( ) & / + _ -":
    "muss aus 1 bis 80 Buchstaben, Ziffern, einzelnen Leerzeichen oder . ' ( ) & / + _ - bestehen",
  'must have at most 79 bytes in UTF-8': 'darf in UTF-8 höchstens 79 Bytes haben',
  "must be 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -":
    "muss aus 1 bis 64 Buchstaben, Ziffern, einzelnen Leerzeichen oder . ' ( ) & / + _ - bestehen",
  'must be 4 to 12 digits': 'muss aus 4 bis 12 Ziffern bestehen',
  'must be the name of a sound': 'muss der Name eines Tons sein',
  'must be a service number': 'muss eine Dienstnummer sein',
  'must be 1 to 64 of a-z 0-9 . _ @ -': 'muss aus 1 bis 64 Zeichen aus a-z 0-9 . _ @ - bestehen',
  'must contain each value once': 'darf jeden Wert nur einmal enthalten',
  'must be 12 hexadecimal digits': 'muss aus 12 hexadezimalen Ziffern bestehen',
  'must be a language such as en, fr or pt_BR': 'muss eine Sprache wie en, fr oder pt_BR sein',
  'must be 43 of A-Z a-z 0-9 _ -': 'muss aus 43 Zeichen aus A-Z a-z 0-9 _ - bestehen',
  'must be 1 to 20 of a-z _': 'muss aus 1 bis 20 Zeichen aus a-z _ bestehen',
  'must be 1 to 40 of 0-9 + * # a-z _ -': 'muss aus 1 bis 40 Zeichen aus 0-9 + * # a-z _ - bestehen',
  'must be 1 to 32 of 0-9 * #, with or without a + in front':
    'muss aus 1 bis 32 Zeichen aus 0-9 * # bestehen, mit oder ohne + davor',
  'must be 22 to 128 of A-Z a-z 0-9 _ -': 'muss aus 22 bis 128 Zeichen aus A-Z a-z 0-9 _ - bestehen',
  'must be one key of 0-9 * #': 'muss genau eine Taste von 0-9 * # sein',
  'must be a time such as 08:30': 'muss eine Uhrzeit wie 08:30 sein',
  'must be the id of a sound': 'muss die Kennung eines Tons sein',
  'must not end in a dot': 'darf nicht mit einem Punkt enden',
  'must be 1 to 64 of A-Z a-z 0-9 + . _ -': 'muss aus 1 bis 64 Zeichen aus A-Z a-z 0-9 + . _ - bestehen',
  'must be 1 to 128 printable characters other than ; \\':
    'muss aus 1 bis 128 druckbaren Zeichen außer ; und \\ bestehen',
  'must have a digit or +, or at least five of X, Z and N':
    'muss eine Ziffer oder + enthalten oder mindestens fünf aus X, Z und N',
  'must be + and 1 to 6 digits, the first not 0': 'muss + und 1 bis 6 Ziffern sein, die erste nicht 0',
  'must be digits and X, Z, N, with . or ! at the end':
    'muss aus Ziffern und X, Z, N bestehen, mit . oder ! am Ende',
  'must be the id of a feature code, such as agent.login':
    'muss die Kennung eines Funktionscodes wie agent.login sein',
  'must be * or # and 1 to 6 digits': 'muss * oder # und 1 bis 6 Ziffern sein',
  'must be a number or a code': 'muss eine Nummer oder ein Code sein',
  'must be 1 to 40 of 0-9 * #, with or without a + in front':
    'muss aus 1 bis 40 Zeichen aus 0-9 * # bestehen, mit oder ohne + davor',
  'must be up to 32 digits, with or without a + in front':
    'muss aus bis zu 32 Ziffern bestehen, mit oder ohne + davor',
  'in braces there can be {number}, {name}, {conversation} and {queue} only':
    'in geschweiften Klammern stehen nur {number}, {name}, {conversation} und {queue}',
  'must be an address that begins with https:// or http:// and a host':
    'muss eine Adresse sein, die mit https:// oder http:// und einem Rechnernamen beginnt',
  'must be a code: lower-case letters, digits, "_" and "-", 64 at most':
    'muss ein Code sein: Kleinbuchstaben, Ziffern, "_" und "-", höchstens 64',
  'must be the id of a conversation': 'muss die Kennung eines Gesprächs sein',
  'must not contain control characters': 'darf keine Steuerzeichen enthalten',
  'must be the id of a note': 'muss die Kennung einer Notiz sein',
  'must be the name of a codec': 'muss der Name eines Codecs sein',
  'must be a queue': 'muss eine Warteschlange sein',
  'must name each column once': 'darf jede Spalte nur einmal nennen',
  'must be the id of an export': 'muss die Kennung eines Exports sein',
  'must be a whole number': 'muss eine ganze Zahl sein',
  'must be a cursor of this list': 'muss eine Marke dieser Liste sein',
  'must name each scope once': 'darf jeden Bereich nur einmal nennen',
  'must be the id of an API key': 'muss die Kennung eines API-Schlüssels sein',
  'must be the id of a session': 'muss die Kennung einer Sitzung sein',
  'must have a text': 'muss einen Text haben',
  'must have a text; use null for none': 'muss einen Text haben; für keinen gilt null',
  'must be a number': 'muss eine Nummer sein',
  'must be an id': 'muss eine Kennung sein',
  'must be the name of a queue': 'muss der Name einer Warteschlange sein',
  'must be the id of a caller who waits': 'muss die Kennung eines wartenden Anrufers sein',
  'must be the id of a recording': 'muss die Kennung einer Aufnahme sein',
  'must not contain a NUL character': 'darf kein NUL-Zeichen enthalten',
  'must have at most 1024 bytes': 'darf höchstens 1024 Bytes haben',
  'must have at least 8 bytes': 'muss mindestens 8 Bytes haben',
  'must be a topic; topics are presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config and system, some with /<extension>, /<queue> or /mine':
    'muss ein Thema sein; Themen sind presence, calls, alerts, parking, queues, agents, history, phonebook/shared, phonebook/mine, trunks, config und system, manche mit /<extension>, /<queue> oder /mine',
  'expected <seq>:<check> of an event': 'erwartet wird <seq>:<check> eines Ereignisses',
  'must be the id of a webhook': 'muss die Kennung eines Webhooks sein',
  'must be a host, an address or a network of at least 8 bits such as 10.1.0.0/16':
    'muss ein Rechner, eine Adresse oder ein Netz von mindestens 8 Bit wie 10.1.0.0/16 sein',
  'must be a host, an address or a network such as 10.1.0.0/16':
    'muss ein Rechner, eine Adresse oder ein Netz wie 10.1.0.0/16 sein',
  'must be the number of an apply': 'muss die Nummer einer Übernahme sein',
  'must be the number of a version': 'muss die Nummer einer Version sein',
  'the file has {0} bytes': 'die Datei hat {0} Bytes',
  'an integer': 'eine ganze Zahl',
  null: 'null',
  '{0}: must be * or a list of tags in quotes':
    '{0}: muss * oder eine Liste von Marken in Anführungszeichen sein',
  'body: a string contains an unpaired UTF-16 surrogate':
    'body: ein Text enthält ein einzelnes UTF-16-Surrogat',
  'body: the key "{0}" occurs twice; send it once':
    'body: der Schlüssel "{0}" kommt zweimal vor; senden Sie ihn einmal',
  'body: must be nested at most {0} levels deep': 'body: darf höchstens {0} Ebenen tief verschachtelt sein',
  'request bodies use all the memory set aside for them; send it again later':
    'Anfragen belegen den ganzen Speicher für Bodys; senden Sie es später noch einmal',
  'your other requests use all the memory one caller may use for bodies; send this one when they are answered':
    'Ihre anderen Anfragen belegen den ganzen Speicher, den ein Aufrufer für Bodys hat; senden Sie diese, wenn sie beantwortet sind',
  'body: more than {0} values; send fewer at once': 'body: mehr als {0} Werte; senden Sie weniger auf einmal',
  '{0} changes of {1} are already waiting; try again later':
    '{0} Änderungen von {1} warten schon; versuchen Sie es später noch einmal',
  'too many writes are waiting': 'zu viele Schreibvorgänge warten',
  'the earlier writes did not finish': 'die Schreibvorgänge davor wurden nicht fertig',
  '{0} streams of this person or key are open already; close one':
    'von dieser Person oder diesem Schlüssel sind schon {0} Streams offen; schließen Sie einen',
  'topics: you have no access to {0}': 'topics: Sie haben keinen Zugriff auf {0}',
  'topics: {0} is personal and not available to API keys':
    'topics: {0} ist persönlich und für API-Schlüssel nicht verfügbar',
  'topics: {0} is outside the queues and extensions of this API key':
    'topics: {0} gehört nicht zu den Warteschlangen und Nebenstellen dieses API-Schlüssels',
  'this API key lacks the scope {0}, which {1} needs':
    'diesem API-Schlüssel fehlt der Bereich {0}, den {1} verlangt',
  'binary frame: send each frame as text with one JSON object':
    'binärer Frame: senden Sie jeden Frame als Text mit einem JSON-Objekt',
  'more than 100 frames per second; send fewer': 'mehr als 100 Frames in der Sekunde; senden Sie weniger',
  'too many changes of the subscription; slow down': 'zu viele Änderungen des Abonnements; langsamer bitte',
  '{0} commands of this stream are under way; wait for one of them':
    '{0} Befehle dieses Streams sind in Arbeit; warten Sie auf einen davon',
  'topics: more than {0} in one subscription': 'topics: mehr als {0} in einem Abonnement',
  'the snapshot cannot be built now; try again later':
    'der Snapshot kann gerade nicht erstellt werden; versuchen Sie es später noch einmal',
  'the frame is not JSON': 'der Frame ist kein JSON',
  'the frame is not a JSON object': 'der Frame ist kein JSON-Objekt',
  'op: must be subscribe, unsubscribe, ping, pong or command':
    'op: muss subscribe, unsubscribe, ping, pong oder command sein',
  'Last-Event-ID: must be the id of an event, a whole number':
    'Last-Event-ID: muss die id eines Ereignisses sein, eine ganze Zahl',
  'too many tickets were issued and not used; use one or wait until they expire':
    'zu viele Tickets wurden ausgestellt und nicht benutzt; benutzen Sie eines oder warten Sie, bis sie verfallen',
  'must be the name of a setting': 'muss der Name einer Einstellung sein',
  'must be the key of a connector file': 'muss der Schlüssel einer Konnektordatei sein',
  'must be the id of a connector': 'muss die Kennung eines Konnektors sein',
  'must be the id of an entry': 'muss die Kennung eines Eintrags sein',
  'give either file or source': 'geben Sie entweder file oder source an',
  'a site has at most {0} connectors; delete one': 'es gibt höchstens {0} Konnektoren; löschen Sie einen',
  'source: this connector uses a file of the list': 'source: dieser Konnektor verwendet eine Datei der Liste',
  'a test of this connector is under way': 'ein Test dieses Konnektors läuft',
  'there is no such entry': 'diesen Eintrag gibt es nicht',
  'the entry is {0}, so it needs no retry': 'der Eintrag ist im Zustand {0} und braucht keine Wiederholung',
  'there is no such connector': 'diesen Konnektor gibt es nicht',
  'file: {0}': 'file: {0}',
  'source: {0}': 'source: {0}',
  'body: {0}': 'body: {0}',
  'settings.{0}: {1}': 'settings.{0}: {1}',
  'there is no such webhook': 'diesen Webhook gibt es nicht',
  'url: {0} does not resolve to a public address': 'url: {0} führt zu keiner öffentlichen Adresse',
  'types: none of them is published on {0}; {1} is on {2}':
    'types: keiner davon wird unter {0} veröffentlicht; {1} gehört zu {2}',
  'cursor: must be the next_cursor of a page of this list with the same other parameters':
    'cursor: muss der next_cursor einer Seite dieser Liste mit denselben übrigen Parametern sein',
  'topics: the owner of this webhook has no access to {0}':
    'topics: der Besitzer dieses Webhooks hat keinen Zugriff auf {0}',
  'a site has at most {0} webhooks; delete one': 'es gibt höchstens {0} Webhooks; löschen Sie einen',
  'the owner of this webhook no longer exists; delete the webhook and create another':
    'den Besitzer dieses Webhooks gibt es nicht mehr; löschen Sie den Webhook und legen Sie einen neuen an',
  'topics: the owner of this webhook has no access to any of them':
    'topics: der Besitzer dieses Webhooks hat auf keines davon Zugriff',
  'a test of this webhook is under way': 'ein Test dieses Webhooks läuft',
  'enable this webhook first': 'schalten Sie diesen Webhook zuerst ein',
  'a replay is under way, up to {0}': 'eine Wiederholung läuft, bis {0}',
  'from: must be at most {0}, the last event that was delivered':
    'from: darf höchstens {0} sein, das zuletzt übergebene Ereignis',
  'url: must be a URL with its scheme, such as https://example.com/calls':
    'url: muss eine URL mit Schema sein, etwa https://example.com/calls',
  'url: the scheme must be http or https': 'url: das Schema muss http oder https sein',
  'url: must not contain credentials': 'url: darf keine Anmeldedaten enthalten',
  'address: must not contain credentials': 'address: darf keine Anmeldedaten enthalten',
  'url: must not contain a space or a backslash':
    'url: darf weder Leerzeichen noch umgekehrten Schrägstrich enthalten',
  'url: must not contain a fragment (#), which is never sent':
    'url: darf keinen Teil hinter # enthalten, der nie gesendet wird',
  'url: write the host as {0}': 'url: schreiben Sie den Rechner als {0}',
  'url: requests to port {0} are not allowed': 'url: Port {0} wird nie aufgerufen',
  'url: the host must not end in a full stop': 'url: der Rechnername darf nicht mit einem Punkt enden',
  'url: {0} is not a public address; an administrator can allow it in the settings of webhooks':
    'url: {0} ist keine öffentliche Adresse; ein Administrator kann sie in den Einstellungen der Webhooks erlauben',
  'this path accepts only WebSocket: send an upgrade request':
    'dieser Pfad nimmt nur WebSocket an: senden Sie eine Upgrade-Anfrage',
  'the WebSocket handshake is not valid; it needs Sec-WebSocket-Version 13 and a Sec-WebSocket-Key':
    'der WebSocket-Handshake ist nicht gültig; er braucht Sec-WebSocket-Version 13 und einen Sec-WebSocket-Key',
  'ticket: unknown, already used or older than 30 seconds; request a new one':
    'ticket: unbekannt, schon benutzt oder älter als 30 Sekunden; fordern Sie ein neues an',
  'Origin: a session cookie is accepted only from the origin of this service; other origins use a bearer token':
    'Origin: ein Sitzungs-Cookie gilt nur vom Ursprung dieses Dienstes; andere Ursprünge nutzen ein Bearer-Token',
  'this session was not confirmed in the last 5 minutes: POST /api/v1/session/confirm, then send the request again':
    'diese Sitzung wurde in den letzten 5 Minuten nicht bestätigt: senden Sie POST /api/v1/session/confirm und dann die Anfrage noch einmal',
  'the upload is larger than {0} bytes': 'der Upload ist größer als {0} Bytes',
  'the body ended early': 'der Body endete zu früh',
  'Content-Type must be audio/… or application/octet-stream':
    'Content-Type muss audio/… oder application/octet-stream sein',
  'Content-Type must be application/json in UTF-8': 'Content-Type muss application/json in UTF-8 sein',
  'Content-Type must be application/json or {0} in UTF-8':
    'Content-Type muss application/json oder {0} in UTF-8 sein',
  'Content-Encoding is not supported; send the body uncompressed':
    'Content-Encoding wird nicht unterstützt; senden Sie den Body unkomprimiert',
  'the body is larger than {0} bytes': 'der Body ist größer als {0} Bytes',
  'body: must be valid UTF-8': 'body: muss gültiges UTF-8 sein',
  'body: the field "{0}" occurs twice; send it once':
    'body: das Feld "{0}" kommt zweimal vor; senden Sie es einmal',
  'body: the field constructor.prototype is not allowed':
    'body: das Feld constructor.prototype ist nicht erlaubt',
  'body: the field __proto__ is not allowed': 'body: das Feld __proto__ ist nicht erlaubt',
  'body: the percent-encoding is not valid': 'body: die Prozentkodierung ist nicht gültig',
  'there is no such path; this address has /metrics, /healthz and /readyz':
    'diesen Pfad gibt es nicht; diese Adresse hat /metrics, /healthz und /readyz',
  'the service failed': 'der Dienst ist gescheitert',
  'this site requires a second factor: POST /api/v1/session/otp, then /api/v1/session/otp/confirm':
    'hier wird ein zweiter Faktor verlangt: POST /api/v1/session/otp, dann /api/v1/session/otp/confirm',
  'this path accepts no WebSocket; the event stream is /api/v1/stream':
    'dieser Pfad nimmt keinen WebSocket an; der Ereignis-Stream ist /api/v1/stream',
  'Origin: this origin is not allowed; an administrator can add it to the allowed origins':
    'Origin: dieser Ursprung ist nicht erlaubt; ein Administrator kann ihn zu den erlaubten hinzufügen',
  '"{0}" is not allowed in the address, which logs keep; send it in a header':
    '"{0}" ist in der Adresse nicht erlaubt, weil Protokolle sie aufbewahren; senden Sie es in einer Kopfzeile',
  'Idempotency-Key: must be 1 to 255 printable characters without spaces':
    'Idempotency-Key: muss aus 1 bis 255 druckbaren Zeichen ohne Leerzeichen bestehen',
  'the results of repeated requests cannot be stored now; try again later':
    'die Ergebnisse wiederholter Anfragen können gerade nicht gespeichert werden; versuchen Sie es später',
  'Idempotency-Key: the first attempt was interrupted or its stored reply is unreadable, so its result is unknown; check the state, then use a new key':
    'Idempotency-Key: der erste Versuch wurde unterbrochen oder seine gespeicherte Antwort ist unlesbar, daher ist sein Ergebnis unbekannt; prüfen Sie den Zustand und nehmen Sie dann einen neuen Schlüssel',
  'Idempotency-Key: already used with another body; use a new key':
    'Idempotency-Key: schon mit einem anderen Body benutzt; nehmen Sie einen neuen Schlüssel',
  'action: no command has this name; see the commands of the stream in /api/v1/asyncapi.json':
    'action: kein Befehl heißt so; die Befehle des Streams stehen in /api/v1/asyncapi.json',
  'data: must be an object': 'data: muss ein Objekt sein',
  'the body is larger than this path takes': 'der Body ist größer, als dieser Pfad annimmt',
  'body: an empty body is not valid JSON; send at least {}':
    'body: ein leerer Body ist kein gültiges JSON; senden Sie mindestens {}',
  'this is not an HTTP/1.1 request': 'das ist keine HTTP/1.1-Anfrage',
  'this path accepts only SIP over WebSocket: send an upgrade request':
    'dieser Pfad nimmt nur SIP über WebSocket an: senden Sie eine Upgrade-Anfrage',
  'Sec-WebSocket-Protocol must name "sip"': 'Sec-WebSocket-Protocol muss "sip" nennen',
  'too many connections; try again later': 'zu viele Verbindungen; versuchen Sie es später noch einmal',
  'the connection was closed meanwhile': 'die Verbindung wurde inzwischen geschlossen',
  'the engine takes no SIP connection now: {0}': 'die Anlage nimmt gerade keine SIP-Verbindung an: {0}',
  'is not accepted by this tool': 'ist hier nicht gültig',
  'the answer has {0} bytes, more than {1}; read single objects instead':
    'die Antwort hat {0} Bytes, mehr als {1}; lesen Sie einzelne Objekte',
  'the answer has {0} bytes, more than {1}; narrow it by {2}':
    'die Antwort hat {0} Bytes, mehr als {1}; grenzen Sie sie ein mit {2}',
  'a cookie is not accepted here; send the API key or session as a bearer token':
    'hier gilt kein Cookie; senden Sie den API-Schlüssel oder die Sitzung als Bearer-Token',
  '{0} messages of {1} are under way; wait for one of them':
    '{0} Nachrichten von {1} sind noch in Arbeit; warten Sie auf eine davon',
  'a session only reads here; use an API key with the scope {0}':
    'eine Sitzung liest hier nur; verwenden Sie einen API-Schlüssel mit dem Scope {0}',
  'arguments: {0} characters are more than a person can confirm; send at most {1}':
    'arguments: {0} Zeichen sind mehr, als ein Mensch bestätigen kann; senden Sie höchstens {1}',
  'must begin with a single /; it is appended to `base`':
    'muss mit genau einem / beginnen; es wird an `base` angehängt',
  'must be the name of a header': 'muss der Name eines Headers sein',
  'needs exactly one of get, post, put, patch and delete, with its path':
    'braucht genau eines von get, post, put, patch und delete mit seinem Pfad',
  'must be the name of a form field': 'muss der Name eines Formularfelds sein',
  '`attach` cannot use `get`': '`attach` kann `get` nicht verwenden',
  'needs either `file` or `body`, not both': 'darf nur `file` oder `body` haben, nicht beides',
  'needs `url` or `show`': 'braucht `url` oder `show`',
  '`hide` needs `show`': '`hide` braucht `show`',
  'must be a number format': 'muss ein Format für Nummern sein',
  '`once: find` needs `find`, and `find` needs `once: find`':
    '`once: find` braucht `find`, und `find` braucht `once: find`',
};
