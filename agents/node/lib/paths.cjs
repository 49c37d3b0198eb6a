// What of a request's target may be told: the path, without its parameters, query string, fragment, scheme, host and
// the user's name and password that can stand before a host.
'use strict';

const KEEPS_QUERY = process.env.SLOWPATH_NODE_QUERY === '1';

function pathOf(target) {
  if (typeof target !== 'string') return '';
  let begin = 0;
  if (target.charCodeAt(0) !== 47 /* slash */) {
    const host = target.indexOf('://') + 3;
    if (host < 3) return ''; // "*", or the host and port of CONNECT
    begin = target.slice(host).search(/[/?#]/);
    if (begin < 0) return '/';
    begin += host;
  }
  const rest = target.slice(begin);
  const length = rest.search(/[?#]/);
  if (length < 0) return withoutSecrets(rest);
  const path = withoutSecrets(rest.slice(0, length));
  return KEEPS_QUERY && rest[length] === '?' ? path + rest.slice(length).split('#', 1)[0] : path;
}

/** Without parameters (";jsessionid=…"), and without user and password of a URL that is part of the path. */
function withoutSecrets(path) {
  // Nearly every path; patterns take longer to find nothing.
  if (!path.includes(';') && !path.includes('//')) return path;
  // No pattern that looks at a character more than twice: anybody may send any path.
  return path
    .replace(/;[^/]*/g, '')
    .replace(/\/\/[^/]*@/g, (authority) => (authority.includes(':') ? '//' : authority));
}

module.exports = { pathOf };
