// Names of commands that may be told: those of Redis up to 8 and of Valkey, and of Redis's modules by their prefixes. Any
// other word that an application sends may be a key or a value in the wrong place, or a name that `rename-command` keeps
// secret.
'use strict';

const NAMES = new Set(
  `
  acl append arcount ardel ardelrange arget argetrange argrep arinfo arinsert arlastitems arlen armget armset
  arnext arop arring arscan arseek arset asking auth backup bgrewriteaof bgsave bitcount bitfield bitfield_ro
  bitop bitpos blmove blmovem blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin client cluster command
  commandlog config copy dbsize debug decr decrby del delex delifeq digest discard dump echo eval eval_ro
  evalsha evalsha_ro exec exists expire expireat expiretime failover fcall fcall_ro flushall flushdb function
  geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch
  geosearchstore get getbit getdel getex getrange getset hdel hello hexists hexpire hexpireat hexpiretime hget
  hgetall hgetdel hgetex himport hincrby hincrbyfloat hkeys hlen hmget hmset hotkeys hpersist hpexpire
  hpexpireat hpexpiretime hpttl hrandfield hscan hset hsetex hsetnx hstrlen httl hvals incr incrby incrbyfloat
  increx info keys lastsave latency lcs lindex linsert llen lmove lmovem lmpop lolwut lpop lpos lpush lpushx
  lrange lrem lset ltrim memory mget migrate module monitor move mset msetex msetnx multi object persist pexpire
  pexpireat pexpiretime pfadd pfcount pfdebug pfmerge pfselftest ping psetex psubscribe psync pttl publish
  pubsub punsubscribe quit randomkey readonly readwrite rename renamenx replconf replicaof reset restore
  restore-asking role rpop rpoplpush rpush rpushx sadd save scan scard script sdiff sdiffcard sdiffstore select
  sentinel set setbit setex setnx setrange shutdown sinter sintercard sinterstore sismember slaveof slowlog
  smembers smismember smove sort sort_ro spop spublish srandmember srem sscan ssubscribe strlen subscribe substr
  sunion sunioncard sunionstore sunsubscribe swapdb sync time touch trimslots ttl type unlink unsubscribe
  unwatch vadd vcard vdim vemb vgetattr vinfo vismember vlinks vrandmember vrange vrem vsetattr vsim wait
  waitaof watch xack xackdel xadd xautoclaim xcfgset xclaim xdel xdelex xgroup xidmprecord xinfo xlen xnack
  xpending xrange xread xreadgroup xrevrange xsetid xtrim zadd zcard zcount zdiff zdiffstore zincrby zinter
  zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrange zrangebylex zrangebyscore
  zrangestore zrank zrem zremrangebylex zremrangebyrank zremrangebyscore zrevrange zrevrangebylex
  zrevrangebyscore zrevrank zscan zscore zunion zunionstore
`
    .trim()
    .split(/\s+/),
);
const OF_MODULES = /^(json|ft|ts|bf|cf|cms|topk|tdigest)\.[a-z]{1,24}$/;

/** In lower case; empty where it is none that is known. */
function nameOf(word) {
  const name = String(word).toLowerCase();
  return NAMES.has(name) || OF_MODULES.test(name) ? name : '';
}

module.exports = { nameOf };
